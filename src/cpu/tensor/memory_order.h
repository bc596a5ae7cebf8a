// A tensor in some layout as a plain one: its dimensions in the order of memory.
#pragma once

#include "softneuro/shape.h"
#include "softneuro/types.h"

namespace softneuro {

// plain: as it is; nhwc: N, spatial…, C; blocked: N, ⌈C/block⌉, spatial…, block.
// Precondition: rank >= 3 if the layout is not plain, and rank < kMaxRank if it is blocked.
inline Shape stored_shape(const Shape& shape, Layout layout) {
  if (layout == Layout::plain) return shape;
  const std::int64_t block = block_of(layout);
  Shape stored;
  stored.push_back(shape[0]);
  if (block > 1) stored.push_back((shape[1] + block - 1) / block);
  for (int d = 2; d < shape.rank(); ++d) stored.push_back(shape[d]);
  stored.push_back(block > 1 ? block : shape[1]);
  return stored;
}
// Where axis `axis` of a tensor of `rank` dimensions is among those; of the channels of a blocked
// layout: the axis that counts blocks.
inline int stored_axis(int axis, int rank, Layout layout) {
  if (layout != Layout::channels_last || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}
// Distances in elements between adjacent indices along each axis, in the logical order. Plain and
// nhwc only: a blocked layout has two for the channels.
inline Shape layout_strides(const Shape& shape, Layout layout) {
  Shape strides = shape;
  std::int64_t step = 1;
  for (int place = shape.rank() - 1; place >= 0; --place) {
    int axis = place;
    if (layout == Layout::channels_last && place > 0)
      axis = place == shape.rank() - 1 ? 1 : place + 1;
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

}  // namespace softneuro
