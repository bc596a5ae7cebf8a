// The sizes of a convolution problem of one, two or three spatial axes, as loops want them.
#pragma once

#include "core/problem.h"
#include "core/window.h"

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

// For conv1/2/3 and conv_transpose1/2/3. The problem's shapes have passed LayerType::infer.
Result<ConvGeometry> conv_geometry(const Problem& problem);
Result<ConvGeometry> transposed_conv_geometry(const Problem& problem);

}  // namespace softneuro
