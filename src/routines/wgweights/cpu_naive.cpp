// wgweights cpu/naive: the specification. G g Gᵀ in double.
#include "core/base/element.h"
#include "core/layers/winograd_matrices.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// `at`: where the kernel begins.
double element(const WinogradMatrices& w, const TensorView& g, std::size_t row, std::size_t column,
               std::int64_t at) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(w.taps); ++i)
    for (std::size_t j = 0; j < static_cast<std::size_t>(w.taps); ++j, ++at)
      sum += w.weights[row][i] * w.weights[column][j] * load(g, at);
  return sum;
}

Result<std::unique_ptr<Kernel>> make_naive_wgweights(const Problem& problem) {
  const WinogradMatrices w = winograd_matrices(problem.params);
  return make_function_kernel([=](Context& context) {
    const Shape& u = context.output(0).shape;
    const std::int64_t kernels = u[1] * u[2];
    for (std::int64_t p = 0; p < u[0]; ++p)
      for (std::int64_t k = 0; k < kernels; ++k)
        store(context.output(0), p * kernels + k,
              element(w, context.input(0), static_cast<std::size_t>(p / w.tile),
                      static_cast<std::size_t>(p % w.tile), k * w.taps * w.taps));
  });
}

}  // namespace

Status register_routine_wgweights_cpu_naive(Registry& registry) {
  return add_naive(registry, {"wgweights"}, make_naive_wgweights);
}

}  // namespace softneuro
