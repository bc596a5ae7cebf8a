// Where the elements of plain and channels-last tensors stand.
#pragma once

#include <cstdint>
#include <vector>

#include "softneuro/shape.h"
#include "softneuro/types.h"

namespace softneuro::cuda {

// The logical dimensions (N, C, …) of a tensor in the order of its memory, outermost first.
// Precondition: the layout has no blocks.
std::vector<int> memory_order(int rank, Layout layout);
// For each logical dimension the distance in memory, in elements, of neighbours along it.
std::vector<std::int64_t> memory_strides(const Shape& shape, Layout layout);

// A walk over `sizes`, outermost first, along which an element stands at Σ index · stride.
struct Steps {
  std::vector<std::int64_t> sizes, strides;
};
// The same with as few dimensions as possible, at least one: neighbours that can be walked as one
// are one.
Steps joined(const Steps& steps);

}  // namespace softneuro::cuda
