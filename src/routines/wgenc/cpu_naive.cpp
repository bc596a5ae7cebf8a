// wgenc cpu/naive: the specification. Bᵀ d B in double.
#include "core/base/element.h"
#include "core/layers/winograd_matrices.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveWgencKernel final : public Kernel {
 public:
  explicit NaiveWgencKernel(const Problem& problem)
      : w_(winograd_matrices(static_cast<int>(problem.params.integer("tile_size")),
                             static_cast<int>(problem.params.integer("taps")))) {
    const auto pads = problem.params.integers("pads");
    const std::int64_t width =
        problem.inputs[0].shape[3] + pads[1] + pads[3] - w_.taps + 1;  // of the output
    top_ = pads[0];
    left_ = pads[1];
    across_ = (width + w_.outputs - 1) / w_.outputs;
  }

  Status run(Context& context) const noexcept override {
    const Shape& v = context.output(0).shape;
    for (std::int64_t plane = 0; plane < v[0] * v[1]; ++plane)
      for (std::int64_t p = 0; p < v[2]; ++p)
        for (std::int64_t t = 0; t < v[3]; ++t)
          store(context.output(0), (plane * v[2] + p) * v[3] + t,
                element(context.input(0), plane, p / w_.tile, p % w_.tile, t));
    return {};
  }

 private:
  double element(const TensorView& x, std::int64_t plane, std::int64_t row, std::int64_t column,
                 std::int64_t t) const noexcept {
    const std::int64_t y0 = t / across_ * w_.outputs - top_, x0 = t % across_ * w_.outputs - left_;
    double sum = 0;
    for (std::int64_t i = 0; i < w_.tile; ++i)
      for (std::int64_t j = 0; j < w_.tile; ++j) {
        const std::int64_t iy = y0 + i, ix = x0 + j;
        if (iy < 0 || iy >= x.shape[2] || ix < 0 || ix >= x.shape[3]) continue;
        // A zero of the matrix takes no part: infinity elsewhere in the tile is not its business.
        const double b = w_.input[static_cast<std::size_t>(row)][static_cast<std::size_t>(i)] *
                         w_.input[static_cast<std::size_t>(column)][static_cast<std::size_t>(j)];
        if (b != 0) sum += b * load(x, (plane * x.shape[2] + iy) * x.shape[3] + ix);
      }
    return sum;
  }

  WinogradMatrices w_;
  std::int64_t top_ = 0, left_ = 0, across_ = 1;
};

}  // namespace

Status register_routine_wgenc_cpu_naive(Registry& registry) {
  return add_naive<NaiveWgencKernel>(registry, {"wgenc"});
}

}  // namespace softneuro
