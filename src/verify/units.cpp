#include "verify/units.h"

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "passes/rounding.h"

namespace softneuro {

UnitDifference unit_difference(const Tensor& meant, const Tensor& actual, double units,
                               double cancelled_units) {
  const TensorView e = view_of(meant), a = view_of(actual);
  const double unit = 2 * unit_roundoff(meant.data_type());
  double largest = 0;
  for (std::int64_t i = 0; i < meant.elements(); ++i)
    if (const double x = std::fabs(load(e, i)); std::isfinite(x)) largest = std::max(largest, x);
  UnitDifference difference;
  for (std::int64_t i = 0; i < meant.elements(); ++i) {
    const double x = load(e, i), y = load(a, i);
    if (!std::isfinite(x) ||
        std::fabs(x - y) <= unit * (units * std::fabs(x) + cancelled_units * largest))
      continue;
    if (difference.count++ == 0) difference.first = i;
  }
  return difference;
}

}  // namespace softneuro
