// A tensor in one row: shape, range, largest elements.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "softneuro/tensor.h"

namespace softneuro::tool {

struct TensorSummary {
  double minimum = NAN, maximum = NAN, mean = NAN;   // NaN: no element is finite
  std::int64_t not_finite = 0;                       // NaN and infinities; left out above
  std::vector<std::pair<std::int64_t, double>> top;  // flat index, value; largest first
};
TensorSummary summarize(const Tensor& tensor, std::size_t top = 5);
// Element `index` as a number.
double element(const Tensor& tensor, std::int64_t index);

}  // namespace softneuro::tool
