// hardmax cpu/naive: the specification. 1 at the first largest element, 0 elsewhere.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveHardmaxKernel final : public Kernel {
 public:
  explicit NaiveHardmaxKernel(int axis) : axis_(axis) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::int64_t outer = x.shape.elements(0, axis_);
    const std::int64_t count = x.shape[axis_];
    const std::int64_t inner = x.shape.elements(axis_ + 1, x.shape.rank());
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t base = o * count * inner + i;
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < count; ++k)
          if (load(x, base + k * inner) > load(x, base + best * inner)) best = k;
        for (std::int64_t k = 0; k < count; ++k) store(y, base + k * inner, k == best);
      }
    return {};
  }

 private:
  int axis_;
};

Result<std::unique_ptr<Kernel>> make_naive_hardmax(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"),
                                                     problem.inputs[0].shape.rank()));
  return make_kernel<NaiveHardmaxKernel>(axis);
}

}  // namespace

Status register_routine_hardmax_cpu_naive(Registry& registry) {
  return add_naive(registry, {"hardmax"}, make_naive_hardmax);
}

}  // namespace softneuro
