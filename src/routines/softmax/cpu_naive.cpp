// softmax cpu/naive: the specification. y = exp(x − max) / Σ exp(x − max), summed in double.
#include <cmath>

#include "core/base/element.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveSoftmaxKernel final : public Kernel {
 public:
  NaiveSoftmaxKernel(const Problem& problem, int axis)
      : axis_(axis), log_(problem.params.integer("log") != 0) {}
  int in_place_input() const noexcept override { return 0; }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::int64_t count = x.shape[axis_];
    for_rows(x.shape, axis_, [&](std::int64_t first, std::int64_t step) {
      double largest = -INFINITY;
      for (std::int64_t k = 0; k < count; ++k)
        largest = std::fmax(largest, load(x, first + k * step));
      double sum = 0;
      for (std::int64_t k = 0; k < count; ++k) sum += std::exp(load(x, first + k * step) - largest);
      for (std::int64_t k = 0; k < count; ++k) {
        const double shifted = load(x, first + k * step) - largest;
        store(y, first + k * step, log_ ? shifted - std::log(sum) : std::exp(shifted) / sum);
      }
    });
    return {};
  }

 private:
  int axis_;
  bool log_;
};

}  // namespace

Status register_routine_softmax_cpu_naive(Registry& registry) {
  return add_naive(registry, {"softmax"}, make_along_axis<NaiveSoftmaxKernel>);
}

}  // namespace softneuro
