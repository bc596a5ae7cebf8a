// fill cpu/naive: every element is the value.
#include "cpu/tensor/strided_copy.h"
#include "routines/naive_routine.h"

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

}  // namespace

Status register_routine_fill_cpu_naive(Registry& registry) {
  return add_naive<NaiveFillKernel>(registry, {"fill"});
}

}  // namespace softneuro
