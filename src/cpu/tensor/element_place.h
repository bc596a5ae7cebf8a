// Where the elements of a tensor are in each layout.
#pragma once

#include "softneuro/tensor.h"
#include "softneuro/types.h"

namespace softneuro {

// Index in memory of element `index`, which is counted row-major in the logical order.
inline std::int64_t element_place(std::int64_t index, const Shape& shape, Layout layout) {
  if (layout == Layout::plain || shape.rank() < 3) return index;
  const std::int64_t inner = shape.elements(2, shape.rank());
  const std::int64_t channels = shape[1];
  const std::int64_t s = index % inner;
  const std::int64_t c = index / inner % channels;
  const std::int64_t n = index / inner / channels;
  const std::int64_t block = layout == Layout::channels_last ? channels : block_of(layout);
  const std::int64_t blocks = (channels + block - 1) / block;
  return ((n * blocks + c / block) * inner + s) * block + c % block;
}

}  // namespace softneuro
