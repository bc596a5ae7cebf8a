// The inner loops of depthwise convolution, one variant per instruction set.
#pragma once

#include "core/layers/window.h"

namespace softneuro {

// Rows [first, last) of one output plane from one input plane.
struct DepthwiseRows {
  WindowAxis y, x;
  const float* input;    // y.input · x.input
  const float* weights;  // y.kernel · x.kernel
  float bias;
  float* output;  // the whole plane
  std::int64_t first, last;
};

using DepthwiseFunction = void (*)(const DepthwiseRows&) noexcept;
// The variant for this processor (current_isa()).
DepthwiseFunction depthwise_function() noexcept;

}  // namespace softneuro
