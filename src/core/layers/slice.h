// What shape inference and routines of slice share.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.h"

namespace softneuro {

// What a slice says about one axis; as given, the whole of it.
struct SliceSpan {
  std::int64_t start = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  std::int64_t step = 1;
};
// The indices of an axis that a slice takes: first, first + step, …, `count` of them.
struct SliceRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// One span per axis. Without `axes` the first ones are meant, without `steps` all are 1.
// invalid_model if lengths differ, an axis is out of range or named twice, or a step is 0.
SN_INTREE Result<std::vector<SliceSpan>> slice_spans(
    int rank, std::span<const std::int64_t> starts, std::span<const std::int64_t> ends,
    const std::optional<std::vector<std::int64_t>>& axes,
    const std::optional<std::vector<std::int64_t>>& steps);

// What a span takes of an axis of `dim` indices; limits beyond it are cut off.
SN_INTREE SliceRange slice_range(const SliceSpan& span, std::int64_t dim) noexcept;

}  // namespace softneuro
