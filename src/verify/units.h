// Numbers compared in units in the last place.
#pragma once

#include <cstdint>

#include "softneuro/tensor.h"

namespace softneuro {

struct UnitDifference {
  std::int64_t count = 0;   // of elements that are farther apart
  std::int64_t first = -1;  // of these
};

// Elements of `actual` that are more than `units` units in the last place away from `meant`, and
// more than `cancelled_units` of the largest element, since sums cancel. Elements that are infinite
// or NaN in `meant` are passed over. Both are plain, of one floating-point type and shape.
UnitDifference unit_difference(const Tensor& meant, const Tensor& actual, double units,
                               double cancelled_units);

}  // namespace softneuro
