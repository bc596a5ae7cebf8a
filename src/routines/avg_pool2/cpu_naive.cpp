// avg_pool1, avg_pool2, avg_pool3 cpu/naive: the specification. Means in double.
#include "core/base/element.h"
#include "core/layers/window.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

bool inside(const WindowAxis& axis, std::int64_t i) noexcept {
  return i >= 0 && i < axis.input;
}
// The input with its padding; a window in ceil_mode may reach beyond that.
bool inside_padded(const WindowAxis& axis, std::int64_t i) noexcept {
  return i >= -axis.pad_begin && i < axis.input + axis.pad_end;
}

double mean(const Window& window, bool count_padding, const TensorView& input, std::int64_t p,
            std::int64_t z, std::int64_t y, std::int64_t x) noexcept {
  const auto& [az, ay, ax] = window.axes;
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t kz = 0; kz < az.kernel; ++kz)
    for (std::int64_t ky = 0; ky < ay.kernel; ++ky)
      for (std::int64_t kx = 0; kx < ax.kernel; ++kx) {
        const std::int64_t iz = z * az.stride + kz * az.dilation - az.pad_begin;
        const std::int64_t iy = y * ay.stride + ky * ay.dilation - ay.pad_begin;
        const std::int64_t ix = x * ax.stride + kx * ax.dilation - ax.pad_begin;
        const bool real = inside(az, iz) && inside(ay, iy) && inside(ax, ix);
        if (real) sum += load(input, ((p * az.input + iz) * ay.input + iy) * ax.input + ix);
        if (real || (count_padding && inside_padded(az, iz) && inside_padded(ay, iy) &&
                     inside_padded(ax, ix)))
          ++count;
      }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

Result<std::unique_ptr<Kernel>> make_naive_avg_pool(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(const Window window, pool_window(problem.params, shape));
  const std::int64_t planes = shape.elements(0, 2);
  const bool count_padding = problem.params.integer("count_include_pad") != 0;
  return make_function_kernel([=](Context& context) {
    const auto& [az, ay, ax] = window.axes;
    std::int64_t index = 0;
    for (std::int64_t p = 0; p < planes; ++p)
      for (std::int64_t z = 0; z < az.output; ++z)
        for (std::int64_t y = 0; y < ay.output; ++y)
          for (std::int64_t x = 0; x < ax.output && !context.pool().cancelled(); ++x)
            store(context.output(0), index++,
                  mean(window, count_padding, context.input(0), p, z, y, x));
  });
}

}  // namespace

Status register_routine_avg_pool2_cpu_naive(Registry& registry) {
  return add_naive(registry, {"avg_pool1", "avg_pool2", "avg_pool3"}, make_naive_avg_pool);
}

}  // namespace softneuro
