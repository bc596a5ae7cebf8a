// quantize cpu/direct: float32 to 8 or 16 bit integers, per tensor or per axis.
#include "core/routine/registry.h"
#include "routines/quantize/scaled_rows.h"

namespace softneuro {
namespace {

class DirectQuantizeKernel final : public Kernel {
 public:
  DirectQuantizeKernel(const Problem& problem, const ScaleIndex& index) : rows_(problem, index) {}
  std::size_t workspace_bytes() const noexcept override { return rows_.workspace_bytes(); }

  Status run(Context& context) const noexcept override {
    const float* x = context.input(0).as<float>();
    const TensorView& y = context.output(0);
    const auto size = static_cast<std::int64_t>(size_of(y.type));
    rows_.for_rows(context, [&](std::int64_t first, const ScaledRow& row) {
      quantize_rows().quantize(y.type, x + first, y.as_mutable<std::byte>() + first * size, row);
    });
    return {};
  }

 private:
  ScaledRows rows_;
};

class DirectQuantize final : public SimpleRoutine {
 public:
  DirectQuantize() : SimpleRoutine("quantize", "cpu/direct") {}
  RoutineFacts facts() const override { return {.default_rank = 20}; }
  Applicability applicable(const Problem& problem) const override {
    if (problem.inputs[0].type != DataType::float32 || problem.inputs[1].type != DataType::float32)
      return Applicability::no("x or the scales are not float32");
    if (problem.params.integer("block_size") > 0)
      return Applicability::no("block-wise scales are not supported");
    return Applicability::yes();
  }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext&) const override {
    SN_ASSIGN_OR_RETURN(const ScaleIndex index, ScaleIndex::of(problem));
    return make_kernel<DirectQuantizeKernel>(problem, index);
  }
};

}  // namespace

Status register_routine_quantize_cpu_direct(Registry& registry) {
  return registry.add(std::make_unique<DirectQuantize>());
}

}  // namespace softneuro
