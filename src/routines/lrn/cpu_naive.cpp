// lrn cpu/naive: the specification. y[c] = x[c] / (bias + alpha/size · Σ x²)^beta.
#include <algorithm>

#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_lrn(const Problem& problem) {
  const std::int64_t size = problem.params.integer("size");
  const double alpha = problem.params.real("alpha");
  const double beta = problem.params.real("beta");
  const double bias = problem.params.real("bias");
  return make_function_kernel([=](Context& context) {
    const TensorView& x = context.input(0);
    const std::int64_t channels = x.shape[1];
    const std::int64_t inner = x.shape.elements(2, x.shape.rank());
    const std::int64_t count = x.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t c = i / inner % channels;
      const std::int64_t first = std::max<std::int64_t>(c - (size - 1) / 2, 0);
      const std::int64_t last = std::min(c + size / 2, channels - 1);
      double squares = 0;
      for (std::int64_t k = first; k <= last; ++k) {
        const double value = load(x, i + (k - c) * inner);
        squares += value * value;
      }
      const double mean = alpha / static_cast<double>(size) * squares;
      store(context.output(0), i, load(x, i) / std::pow(bias + mean, beta));
    }
  });
}

}  // namespace

Status register_routine_lrn_cpu_naive(Registry& registry) {
  return add_naive(registry, {"lrn"}, make_naive_lrn);
}

}  // namespace softneuro
