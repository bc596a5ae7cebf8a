// The sizes of a convolution problem of one, two or three spatial axes, as loops want them.
#pragma once

#include "core/layers/window.h"
#include "core/routine/problem.h"

namespace softneuro {

struct ConvGeometry {
  Window window;
  std::int64_t batch = 0;
  std::int64_t group = 1;
  std::int64_t in = 0;   // channels of x per group
  std::int64_t out = 0;  // channels of y per group
  bool bias = false;

  std::int64_t channels_in() const noexcept { return group * in; }
  std::int64_t channels_out() const noexcept { return group * out; }
  // Products that make up one output element: channels times kernel positions.
  std::int64_t depth() const noexcept { return in * window.kernel_elements(); }
};

// The input positions that an output position meets, kernel position by kernel position:
// f(tap, input position or −1 in the padding), both counted over the three axes together.
template <class F>
void for_taps(const Window& window, std::int64_t position, F&& f) {
  const auto& [az, ay, ax] = window.axes;
  const std::int64_t z0 = position / (ay.output * ax.output) * az.stride - az.pad_begin;
  const std::int64_t y0 = position / ax.output % ay.output * ay.stride - ay.pad_begin;
  const std::int64_t x0 = position % ax.output * ax.stride - ax.pad_begin;
  std::int64_t tap = 0;
  for (std::int64_t kz = 0; kz < az.kernel; ++kz)
    for (std::int64_t ky = 0; ky < ay.kernel; ++ky)
      for (std::int64_t kx = 0; kx < ax.kernel; ++kx, ++tap) {
        const std::int64_t z = z0 + kz * az.dilation, y = y0 + ky * ay.dilation,
                           x = x0 + kx * ax.dilation;
        const bool inside =
            z >= 0 && z < az.input && y >= 0 && y < ay.input && x >= 0 && x < ax.input;
        f(tap, inside ? (z * ay.input + y) * ax.input + x : -1);
      }
}

// For conv1/2/3 and conv_transpose1/2/3. The problem's shapes have passed LayerType::infer.
Result<ConvGeometry> conv_geometry(const Problem& problem);
Result<ConvGeometry> transposed_conv_geometry(const Problem& problem);

// The share of a product's panel of columns that a group's output channels fill: what is left of a
// dense product's speed where groups are narrow.
double filled_panel(const Problem& problem);

}  // namespace softneuro
