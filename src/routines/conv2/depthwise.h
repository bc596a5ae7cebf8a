// The inner loops of depthwise convolution, one variant per instruction set.
#pragma once

#include "core/base/cpu.h"
#include "core/layers/window.h"

namespace softneuro {

// Rows [first, last) of one output plane from one input plane.
struct DepthwiseRows {
  WindowAxis y, x;
  const float* input = nullptr;    // y.input · x.input
  const float* weights = nullptr;  // y.kernel · x.kernel
  float bias = 0;
  float* output = nullptr;  // the whole plane
  std::int64_t first = 0, last = 0;
};

struct DepthwiseOps {
  void (*run)(const DepthwiseRows&) noexcept;
};
// The best variant for this processor, or for one with these features.
const DepthwiseOps& depthwise_ops() noexcept;
const DepthwiseOps& depthwise_ops(CpuFeatures features) noexcept;

}  // namespace softneuro
