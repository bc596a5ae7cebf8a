// How a convolution of two spatial axes is partitioned for several threads.
#pragma once

#include <vector>

#include "core/layers/window.h"
#include "core/routine/problem.h"

namespace softneuro {

struct ConvShape {
  WindowAxis rows, columns;
  std::int64_t batch = 0, group = 1;
  std::int64_t in = 0, out = 0;  // channels, all groups together
  Layout layout = Layout::channels_last;

  bool is_depthwise() const noexcept { return group > 1 && group == in && group == out; }
};

// Precondition: the problem is one of conv2, its shapes have passed LayerType::infer.
Result<ConvShape> conv_shape(const Problem& problem);

// A convolution of its own on parts of the tensors, which are contiguous in their memory (in the
// blocked layouts padding included).
struct ConvChunk {
  ConvShape shape;
  std::int64_t x_at = 0, y_at = 0;  // where its parts of x and y begin, in elements
  std::int64_t y_count = 0;         // elements of y
  std::int64_t first_out = 0;       // its first output channel
};

// About `split` chunks of about the same work; fewer where the layout does not let it be
// partitioned so often. By images, else by output rows (nhwc; a pointwise convolution by pixels) or
// by blocks of output channels (blocked layouts).
std::vector<ConvChunk> partition_conv(const ConvShape& shape, std::int64_t split);

}  // namespace softneuro
