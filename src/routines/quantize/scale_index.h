// Which scale (and zero point) belongs to an element: for quantize and dequantize.
#pragma once

#include "core/routine/problem.h"

namespace softneuro {

struct ScaleIndex {
  std::int64_t inner = 1;   // elements behind the axis
  std::int64_t dim = 1;     // elements on the axis
  std::int64_t block = 1;   // indices of the axis that share a scale
  std::int64_t blocks = 1;  // ⌈dim / block⌉
  bool per_tensor = true;
  bool per_element = false;  // blocked: scales differ before and behind the axis as well

  // For a quantize or dequantize problem: input 0 is x, input 1 the scale.
  static Result<ScaleIndex> of(const Problem& problem);

  std::int64_t at(std::int64_t element) const noexcept {
    if (per_tensor) return 0;
    const std::int64_t on_axis = element / inner % dim / block;
    return per_element ? (element / (inner * dim) * blocks + on_axis) * inner + element % inner
                       : on_axis;
  }
};

}  // namespace softneuro
