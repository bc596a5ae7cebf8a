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

bool operator==(const Reach& a, const Reach& b) noexcept {
  return a.first == b.first && a.last == b.last;
}

// Adds products to every `stride`-th output. `beside`, if it is not null: products of the next
// kernel position, which go to the outputs behind those; the stride is 2 then.
void add_row(const float* __restrict from, const float* __restrict beside, std::int64_t count,
             std::int64_t stride, float* __restrict to) noexcept {
  if (beside == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) to[i * stride] += from[i];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    to[2 * i] += from[i];
    to[2 * i + 1] += beside[i];
  }
}

}  // namespace

void col2im(const Window& window, const float* product, float* y) noexcept {
  const auto& [az, ay, ax] = window.axes;
  const std::int64_t plane = window.input_elements();
  for (std::int64_t kz = 0; kz < az.kernel; ++kz)
    for (std::int64_t ky = 0; ky < ay.kernel; ++ky)
      for (std::int64_t kx = 0; kx < ax.kernel; ++kx, product += plane) {
        const Reach z = reach(az, kz), v = reach(ay, ky), x = reach(ax, kx);
        const float* const one = product;
        // With stride 2 two positions fill their outputs: one pass, in vectors.
        const bool in_pairs =
            ax.stride == 2 && ax.dilation == 1 && kx + 1 < ax.kernel && x == reach(ax, kx + 1);
        const float* const other = in_pairs ? product += plane : nullptr;
        if (in_pairs) ++kx;
        for (std::int64_t iz = z.first; iz < z.last; ++iz)
          for (std::int64_t iy = v.first; iy < v.last; ++iy) {
            const std::int64_t oz = z.output + (iz - z.first) * az.stride;
            const std::int64_t oy = v.output + (iy - v.first) * ay.stride;
            const std::int64_t from = (iz * ay.input + iy) * ax.input + x.first;
            add_row(one + from, in_pairs ? other + from : nullptr, x.last - x.first, ax.stride,
                    y + (oz * ay.output + oy) * ax.output + x.output);
          }
      }
}

}  // namespace softneuro
