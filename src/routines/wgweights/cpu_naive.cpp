// wgweights cpu/naive: the specification. G g Gᵀ in double.
#include "core/base/element.h"
#include "core/layers/winograd_matrices.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveWgweightsKernel final : public Kernel {
 public:
  explicit NaiveWgweightsKernel(const Problem& problem)
      : w_(winograd_matrices(static_cast<int>(problem.params.integer("tile_size")),
                             static_cast<int>(problem.params.integer("taps")))) {}

  Status run(Context& context) const noexcept override {
    const Shape& u = context.output(0).shape;
    const std::int64_t kernels = u[1] * u[2];
    for (std::int64_t p = 0; p < u[0]; ++p)
      for (std::int64_t k = 0; k < kernels; ++k)
        store(context.output(0), p * kernels + k,
              element(context.input(0), static_cast<std::size_t>(p / w_.tile),
                      static_cast<std::size_t>(p % w_.tile), k * w_.taps * w_.taps));
    return {};
  }

 private:
  // `at`: where the kernel begins.
  double element(const TensorView& g, std::size_t row, std::size_t column,
                 std::int64_t at) const noexcept {
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(w_.taps); ++i)
      for (std::size_t j = 0; j < static_cast<std::size_t>(w_.taps); ++j, ++at)
        sum += w_.weights[row][i] * w_.weights[column][j] * load(g, at);
    return sum;
  }

  WinogradMatrices w_;
};

}  // namespace

Status register_routine_wgweights_cpu_naive(Registry& registry) {
  return add_naive<NaiveWgweightsKernel>(registry, {"wgweights"});
}

}  // namespace softneuro
