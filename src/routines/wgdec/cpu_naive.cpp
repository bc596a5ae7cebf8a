// wgdec cpu/naive: the specification. Aᵀ m A + bias in double.
#include "core/base/element.h"
#include "core/layers/winograd_matrices.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

double element(const WinogradMatrices& w, const TensorView& m, std::int64_t plane, std::int64_t row,
               std::int64_t column, std::int64_t width) noexcept {
  const std::int64_t across = (width + w.outputs - 1) / w.outputs;
  const std::int64_t t = row / w.outputs * across + column / w.outputs;
  const auto& a = w.output[static_cast<std::size_t>(row % w.outputs)];
  const auto& b = w.output[static_cast<std::size_t>(column % w.outputs)];
  double sum = 0;
  for (std::size_t p = 0; p < static_cast<std::size_t>(w.tile * w.tile); ++p) {
    const auto tile = static_cast<std::size_t>(w.tile);
    const double factor = a[p / tile] * b[p % tile];
    const auto at = (plane * m.shape[2] + static_cast<std::int64_t>(p)) * m.shape[3] + t;
    if (factor != 0) sum += factor * load(m, at);
  }
  return sum;
}

Result<std::unique_ptr<Kernel>> make_naive_wgdec(const Problem& problem) {
  const WinogradMatrices w = winograd_matrices(problem.params);
  return make_function_kernel([=](Context& context) {
    const Shape& y = context.output(0).shape;
    std::int64_t index = 0;
    for (std::int64_t plane = 0; plane < y[0] * y[1]; ++plane) {
      const double bias = context.has_input(1) ? load(context.input(1), plane % y[1]) : 0.0;
      for (std::int64_t row = 0; row < y[2]; ++row)
        for (std::int64_t column = 0; column < y[3]; ++column)
          store(context.output(0), index++,
                element(w, context.input(0), plane, row, column, y[3]) + bias);
    }
  });
}

}  // namespace

Status register_routine_wgdec_cpu_naive(Registry& registry) {
  return add_naive(registry, {"wgdec"}, make_naive_wgdec);
}

}  // namespace softneuro
