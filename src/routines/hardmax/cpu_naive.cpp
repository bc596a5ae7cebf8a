// hardmax cpu/naive: the specification. 1 at the first largest element, 0 elsewhere.
#include "core/base/element.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveHardmaxKernel final : public Kernel {
 public:
  NaiveHardmaxKernel(const Problem&, int axis) : axis_(axis) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::int64_t count = x.shape[axis_];
    for_rows(x.shape, axis_, [&](std::int64_t first, std::int64_t step) {
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < count; ++k)
        if (load(x, first + k * step) > load(x, first + best * step)) best = k;
      for (std::int64_t k = 0; k < count; ++k) store(y, first + k * step, k == best);
    });
    return {};
  }

 private:
  int axis_;
};

}  // namespace

Status register_routine_hardmax_cpu_naive(Registry& registry) {
  return add_naive(registry, {"hardmax"}, make_along_axis<NaiveHardmaxKernel>);
}

}  // namespace softneuro
