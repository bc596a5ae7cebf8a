// The inner loops of pooling, one variant per instruction set: any real data type, any layout.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/cpu.h"
#include "core/layers/window.h"
#include "softneuro/export.h"
#include "softneuro/types.h"

namespace softneuro {

// How many elements of the input an output is the mean of, and by how many their sum is divided:
// products over the three axes of what stands here for each output index, at place(). Padding,
// where it counts, is in the latter alone. Whole vectors can be read from any place on.
//
// All outputs whose windows lie within the input have the same: of these it holds one vector, so
// that a table is as long as the edges, whatever the size of the image.
struct SN_INTREE PoolShares {
  std::array<std::vector<float>, kMaxSpatialAxes> addends, counts;
  // Per axis: the first output of those that are alike, and how many of them are left out.
  std::array<std::int64_t, kMaxSpatialAxes> alike{}, left_out{};

  PoolShares() = default;
  PoolShares(const Window& window, bool count_padding);
  std::size_t place(std::size_t axis, std::int64_t o) const noexcept {
    const std::int64_t first = alike[axis];
    return static_cast<std::size_t>(o <= first ? o : std::max(o - left_out[axis], first));
  }
};

// Output rows [first, last) of one plane, counted over the two outer spatial axes together. At
// each position `inner` elements are contiguous: 1 in the plain layout, all channels or a block
// of them in the others.
struct PoolRows {
  const Window* window = nullptr;
  const void* input = nullptr;  // one plane
  void* output = nullptr;       // the whole plane
  std::int64_t first = 0, last = 0;
  std::int64_t inner = 1;
  DataType type = DataType::float32;  // or float16, bfloat16, int8 and uint8 (for qint8)
  // The mean alone: y = (Σ x − zero_point · addends) · scale / count, where `count` may include the
  // padding; of bytes, that rounded, plus to_zero_point.
  const PoolShares* shares = nullptr;
  float zero_point = 0, scale = 1;
  std::int32_t to_zero_point = 0;
};

struct PoolFunctions {
  void (*max)(const PoolRows&) noexcept;
  void (*mean)(const PoolRows&) noexcept;
};
// The best variant for this processor, or for one with these features.
const PoolFunctions& pool_functions() noexcept;
const PoolFunctions& pool_functions(CpuFeatures features) noexcept;

}  // namespace softneuro
