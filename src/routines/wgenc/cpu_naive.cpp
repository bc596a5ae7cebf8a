// wgenc cpu/naive: the specification. Bᵀ d B in double.
#include "core/base/element.h"
#include "core/layers/winograd_matrices.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// Of the tile at (y0, x0) of a plane.
double element(const WinogradMatrices& w, const TensorView& x, std::int64_t plane, std::int64_t row,
               std::int64_t column, std::int64_t y0, std::int64_t x0) noexcept {
  double sum = 0;
  for (std::int64_t i = 0; i < w.tile; ++i)
    for (std::int64_t j = 0; j < w.tile; ++j) {
      const std::int64_t iy = y0 + i, ix = x0 + j;
      if (iy < 0 || iy >= x.shape[2] || ix < 0 || ix >= x.shape[3]) continue;
      // A zero of the matrix takes no part: infinity elsewhere in the tile is not its business.
      const double b = w.input[static_cast<std::size_t>(row)][static_cast<std::size_t>(i)] *
                       w.input[static_cast<std::size_t>(column)][static_cast<std::size_t>(j)];
      if (b != 0) sum += b * load(x, (plane * x.shape[2] + iy) * x.shape[3] + ix);
    }
  return sum;
}

Result<std::unique_ptr<Kernel>> make_naive_wgenc(const Problem& problem) {
  const WinogradMatrices w = winograd_matrices(problem.params);
  const auto pads = problem.params.integers("pads");
  const std::int64_t top = pads[0], left = pads[1];
  const std::int64_t width =
      problem.inputs[0].shape[3] + left + pads[3] - w.taps + 1;  // of the output
  const std::int64_t across = (width + w.outputs - 1) / w.outputs;
  return make_function_kernel([=](Context& context) {
    const Shape& v = context.output(0).shape;
    for (std::int64_t plane = 0; plane < v[0] * v[1]; ++plane)
      for (std::int64_t p = 0; p < v[2]; ++p)
        for (std::int64_t t = 0; t < v[3]; ++t)
          store(context.output(0), (plane * v[2] + p) * v[3] + t,
                element(w, context.input(0), plane, p / w.tile, p % w.tile,
                        t / across * w.outputs - top, t % across * w.outputs - left));
  });
}

}  // namespace

Status register_routine_wgenc_cpu_naive(Registry& registry) {
  return add_naive(registry, {"wgenc"}, make_naive_wgenc);
}

}  // namespace softneuro
