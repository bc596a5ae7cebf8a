// softmax cpu/naive: the specification. y = exp(x − max) / Σ exp(x − max), summed in double.
#include <cmath>

#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveSoftmaxKernel final : public Kernel {
 public:
  NaiveSoftmaxKernel(int axis, bool log) : axis_(axis), log_(log) {}
  int in_place_input() const noexcept override { return 0; }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const int rank = x.shape.rank();
    const std::int64_t outer = x.shape.elements(0, axis_);
    const std::int64_t count = x.shape[axis_];
    const std::int64_t inner = x.shape.elements(axis_ + 1, rank);
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t base = o * count * inner + i;
        double largest = -INFINITY;
        for (std::int64_t k = 0; k < count; ++k)
          largest = std::fmax(largest, load(x, base + k * inner));
        double sum = 0;
        for (std::int64_t k = 0; k < count; ++k)
          sum += std::exp(load(x, base + k * inner) - largest);
        for (std::int64_t k = 0; k < count; ++k) {
          const double shifted = load(x, base + k * inner) - largest;
          store(y, base + k * inner, log_ ? shifted - std::log(sum) : std::exp(shifted) / sum);
        }
      }
    return {};
  }

 private:
  int axis_;
  bool log_;
};

Result<std::unique_ptr<Kernel>> make_naive_softmax(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"),
                                                     problem.inputs[0].shape.rank()));
  return make_kernel<NaiveSoftmaxKernel>(axis, problem.params.integer("log") != 0);
}

}  // namespace

Status register_routine_softmax_cpu_naive(Registry& registry) {
  return add_naive(registry, {"softmax"}, make_naive_softmax);
}

}  // namespace softneuro
