// Window: how a kernel slides over the spatial axes of x[N,C,S…] in convolutions and pools, with
// padding resolved to numbers.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/graph/params.h"
#include "softneuro/export.h"
#include "softneuro/shape.h"
#include "softneuro/status.h"

namespace softneuro {

inline constexpr int kMaxSpatialAxes = 3;

// One spatial axis. Convolution and pool: output o meets input o·stride + k·dilation − pad_begin.
// Transposed: input i meets output i·stride + k·dilation − pad_begin.
// The default is an axis of size one that changes nothing.
struct WindowAxis {
  std::int64_t input = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
  std::int64_t output = 1;

  // Elements that the kernel spans: dilation·(kernel − 1) + 1.
  std::int64_t extent() const noexcept { return dilation * (kernel - 1) + 1; }
  bool operator==(const WindowAxis&) const = default;
};

// Always three axes, so that loops need not know how many there are: the real ones come last,
// those before them are neutral.
struct Window {
  std::array<WindowAxis, kMaxSpatialAxes> axes;

  std::int64_t input_elements() const noexcept {
    return axes[0].input * axes[1].input * axes[2].input;
  }
  std::int64_t kernel_elements() const noexcept {
    return axes[0].kernel * axes[1].kernel * axes[2].kernel;
  }
  std::int64_t output_elements() const noexcept {
    return axes[0].output * axes[1].output * axes[2].output;
  }
  // Kernel of one element, stride 1, no padding: the output is a function of one input element.
  bool is_pointwise() const noexcept;
};

// The parameters strides, pads, dilations, auto_pad, ceil_mode (those that the layer type
// declares) of axis `axis` of `axes`, for an input and a kernel of given sizes; −1: not known yet,
// then what depends on it is −1 as well. An error if a list has a wrong length, a number is out of
// range, or the window does not fit into the padded input.
SN_INTREE Result<WindowAxis> window_axis(const Params& params, int axes, int axis,
                                         std::int64_t input, std::int64_t kernel);
// The same for a transposed convolution, with output_padding and output_shape.
SN_INTREE Result<WindowAxis> transposed_window_axis(const Params& params, int axes, int axis,
                                                    std::int64_t input, std::int64_t kernel);

// The output's dimension of an axis that one of the two functions above has computed for the input
// dimension `input`. Where that has a symbol, the result has one that spells out the formula, so
// that equal windows over equal inputs are known to give equal sizes: "(h-1)/2+1".
SN_INTREE Dim window_output(const Params& params, const WindowAxis& axis, const Dim& input);
SN_INTREE Dim transposed_window_output(const Params& params, const WindowAxis& axis,
                                       const Dim& input);

// The parameters of a convolution or pool put no element around its input.
SN_INTREE bool pads_nothing(const Params& params);

// All axes for x[N,C,S…] and a kernel of `kernel.size()` (1 to 3) axes.
SN_INTREE Result<Window> make_window(const Params& params, const Shape& x,
                                     std::span<const std::int64_t> kernel);
SN_INTREE Result<Window> make_transposed_window(const Params& params, const Shape& x,
                                                std::span<const std::int64_t> kernel);
// Of a pool, whose kernel is a parameter.
SN_INTREE Result<Window> pool_window(const Params& params, const Shape& x);

}  // namespace softneuro
