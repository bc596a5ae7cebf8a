// lrn cpu/naive: the specification. y[c] = x[c] / (bias + alpha/size · Σ x²)^beta.
#include <algorithm>

#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveLrnKernel final : public Kernel {
 public:
  NaiveLrnKernel(std::int64_t size, double alpha, double beta, double bias)
      : size_(size), alpha_(alpha), beta_(beta), bias_(bias) {}

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

Result<std::unique_ptr<Kernel>> make_naive_lrn(const Problem& problem) {
  const Params& p = problem.params;
  return make_kernel<NaiveLrnKernel>(p.integer("size"), p.real("alpha"), p.real("beta"),
                                     p.real("bias"));
}

}  // namespace

Status register_routine_lrn_cpu_naive(Registry& registry) {
  return add_naive(registry, {"lrn"}, make_naive_lrn);
}

}  // namespace softneuro
