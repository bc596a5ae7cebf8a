// quantize cpu/direct: float32 to 8 or 16 bit integers, per tensor or per axis.
#include "core/routine/function_routine.h"
#include "routines/quantize/scaled_rows.h"

namespace softneuro {
namespace {

Applicability applicable(const Problem& problem) {
  if (problem.inputs[0].type != DataType::float32 || problem.inputs[1].type != DataType::float32)
    return Applicability::no("x or the scales are not float32");
  if (problem.params.integer("block_size") > 0)
    return Applicability::no("block-wise scales are not supported");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_quantize(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ScaleIndex index, ScaleIndex::of(problem));
  const ScaledRows rows(problem, index);
  return make_function_kernel({.workspace_bytes = rows.workspace_bytes()}, [=](Context& context) {
    const float* x = context.input(0).as<float>();
    const TensorView& y = context.output(0);
    const auto size = static_cast<std::int64_t>(size_of(y.type));
    rows.for_rows(context, [&](std::int64_t first, const ScaledRow& row) {
      quantize_rows().quantize(y.type, x + first, y.as_mutable<std::byte>() + first * size, row);
    });
  });
}

}  // namespace

Status register_routine_quantize_cpu_direct(Registry& registry) {
  return add_routines(
      registry, {"quantize"}, {"cpu"}, "direct",
      {.facts = {.default_rank = 20}, .applicable = applicable, .create = make_direct_quantize});
}

}  // namespace softneuro
