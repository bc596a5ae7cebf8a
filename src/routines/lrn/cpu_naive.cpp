// lrn cpu/naive: the specification. y[c] = x[c] / (bias + alpha/size · Σ x²)^beta.
#include <algorithm>

#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveLrnKernel final : public Kernel {
 public:
  explicit NaiveLrnKernel(const Problem& problem)
      : size_(problem.params.integer("size")),
        alpha_(problem.params.real("alpha")),
        beta_(problem.params.real("beta")),
        bias_(problem.params.real("bias")) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const std::int64_t channels = x.shape[1];
    const std::int64_t inner = x.shape.elements(2, x.shape.rank());
    const std::int64_t count = x.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t c = i / inner % channels;
      const std::int64_t first = std::max<std::int64_t>(c - (size_ - 1) / 2, 0);
      const std::int64_t last = std::min(c + size_ / 2, channels - 1);
      double squares = 0;
      for (std::int64_t k = first; k <= last; ++k) {
        const double value = load(x, i + (k - c) * inner);
        squares += value * value;
      }
      const double mean = alpha_ / static_cast<double>(size_) * squares;
      store(context.output(0), i, load(x, i) / std::pow(bias_ + mean, beta_));
    }
    return {};
  }

 private:
  std::int64_t size_;
  double alpha_, beta_, bias_;
};

}  // namespace

Status register_routine_lrn_cpu_naive(Registry& registry) {
  return add_naive<NaiveLrnKernel>(registry, {"lrn"});
}

}  // namespace softneuro
