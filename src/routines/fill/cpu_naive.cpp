// fill cpu/naive: every element is the value.
#include "core/routine/registry.h"
#include "cpu/tensor/strided_copy.h"

namespace softneuro {
namespace {

class NaiveFillKernel final : public Kernel {
 public:
  Status run(Context& context) const noexcept override {
    const TensorView& y = context.output(0);
    fill_elements(context.input(1).data, y.data, y.elements(), size_of(y.type), context.pool());
    return {};
  }
};

class NaiveFill final : public Routine {
 public:
  NaiveFill() : Routine("fill", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem&, const RoutineParams&,
                                         const PackedWeights&) const override {
    return make_kernel<NaiveFillKernel>();
  }
};

}  // namespace

Status register_routine_fill_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveFill>());
}

}  // namespace softneuro
