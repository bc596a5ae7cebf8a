// dequantize cpu/direct: 8, 16 or 32 bit integers to float32, per tensor or per axis.
#include "core/routine/registry.h"
#include "routines/quantize/scaled_rows.h"

namespace softneuro {
namespace {

class DirectDequantizeKernel final : public Kernel {
 public:
  DirectDequantizeKernel(const Problem& problem, const ScaleIndex& index) : rows_(problem, index) {}
  std::size_t workspace_bytes() const noexcept override { return rows_.workspace_bytes(); }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    float* y = context.output(0).as_mutable<float>();
    const auto size = static_cast<std::int64_t>(size_of(x.type));
    rows_.for_rows(context, [&](std::int64_t first, const ScaledRow& row) {
      quantize_rows().dequantize(x.type, x.as<std::byte>() + first * size, y + first, row);
    });
    return {};
  }

 private:
  ScaledRows rows_;
};

class DirectDequantize final : public SimpleRoutine {
 public:
  DirectDequantize() : SimpleRoutine("dequantize", "cpu/direct") {}
  RoutineFacts facts() const override { return {.default_rank = 20}; }
  Applicability applicable(const Problem& problem) const override {
    if (problem.outputs[0].type != DataType::float32)
      return Applicability::no("the scales are not float32");
    if (problem.params.integer("block_size") > 0)
      return Applicability::no("block-wise scales are not supported");
    if (problem.inputs[0].type == DataType::int32 && problem.has_input(2))
      return Applicability::no("the difference of 32 bit integers may not fit 32 bits");
    return Applicability::yes();
  }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext&) const override {
    SN_ASSIGN_OR_RETURN(const ScaleIndex index, ScaleIndex::of(problem));
    return make_kernel<DirectDequantizeKernel>(problem, index);
  }
};

}  // namespace

Status register_routine_dequantize_cpu_direct(Registry& registry) {
  return registry.add(std::make_unique<DirectDequantize>());
}

}  // namespace softneuro
