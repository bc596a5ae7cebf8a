#include "routines/conv_transpose2/col2im.h"

#include <algorithm>

namespace softneuro {
namespace {

// Inputs [first, last) of one axis that reach the output through kernel position `k`, and the
// output that the first of them meets.
struct Reach {
  std::int64_t first, last, output;
};

Reach reach(const WindowAxis& axis, std::int64_t k) noexcept {
  const std::int64_t shift = k * axis.dilation - axis.pad_begin;  // output = input·stride + shift
  const std::int64_t first = shift >= 0 ? 0 : (-shift + axis.stride - 1) / axis.stride;
  const std::int64_t room = axis.output - 1 - shift;
  const std::int64_t last = room < 0 ? 0 : std::min(room / axis.stride + 1, axis.input);
  return {first, std::max(first, last), first * axis.stride + shift};
}

}  // namespace

void col2im(const Window& window, const float* product, float* y) noexcept {
  const auto& [az, ay, ax] = window.axes;
  for (std::int64_t kz = 0; kz < az.kernel; ++kz)
    for (std::int64_t ky = 0; ky < ay.kernel; ++ky)
      for (std::int64_t kx = 0; kx < ax.kernel; ++kx, product += window.input_elements()) {
        const Reach z = reach(az, kz), v = reach(ay, ky), x = reach(ax, kx);
        for (std::int64_t iz = z.first; iz < z.last; ++iz)
          for (std::int64_t iy = v.first; iy < v.last; ++iy) {
            const std::int64_t oz = z.output + (iz - z.first) * az.stride;
            const std::int64_t oy = v.output + (iy - v.first) * ay.stride;
            const float* const from = product + (iz * ay.input + iy) * ax.input;
            float* to = y + (oz * ay.output + oy) * ax.output + x.output;
            for (std::int64_t ix = x.first; ix < x.last; ++ix, to += ax.stride) *to += from[ix];
          }
      }
}

}  // namespace softneuro
