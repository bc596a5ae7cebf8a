// dequantize cpu/direct: 8, 16 or 32 bit integers to float32, per tensor or per axis.
#include "core/routine/function_routine.h"
#include "routines/quantize/scaled_rows.h"

namespace softneuro {
namespace {

Applicability applicable(const Problem& problem) {
  if (problem.outputs[0].type != DataType::float32)
    return Applicability::no("the scales are not float32");
  if (problem.params.integer("block_size") > 0)
    return Applicability::no("block-wise scales are not supported");
  if (problem.inputs[0].type == DataType::int32 && problem.has_input(2))
    return Applicability::no("the difference of 32 bit integers may not fit 32 bits");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> make_direct_dequantize(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ScaleIndex index, ScaleIndex::of(problem));
  const ScaledRows rows(problem, index);
  return make_function_kernel({.workspace_bytes = rows.workspace_bytes()}, [=](Context& context) {
    const TensorView& x = context.input(0);
    float* y = context.output(0).as_mutable<float>();
    const auto size = static_cast<std::int64_t>(size_of(x.type));
    rows.for_rows(context, [&](std::int64_t first, const ScaledRow& row) {
      quantize_rows().dequantize(x.type, x.as<std::byte>() + first * size, y + first, row);
    });
  });
}

}  // namespace

Status register_routine_dequantize_cpu_direct(Registry& registry) {
  return add_routines(
      registry, {"dequantize"}, {"cpu"}, "direct",
      {.facts = {.default_rank = 20}, .applicable = applicable, .create = make_direct_dequantize});
}

}  // namespace softneuro
