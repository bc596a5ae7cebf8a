#include "passes/rounding.h"

#include <cmath>
#include <limits>

namespace softneuro {
namespace {

double smallest_normal(DataType type) {
  if (type == DataType::float16) return 0x1p-14;
  if (type == DataType::float64) return std::numeric_limits<double>::min();
  return 0x1p-126;
}

}  // namespace

double unit_roundoff(DataType type) {
  if (type == DataType::float16) return 0x1p-11;
  if (type == DataType::bfloat16) return 0x1p-8;
  return type == DataType::float64 ? 0x1p-53 : 0x1p-24;
}

double rounded(double value, DataType type) {
  return dispatch(type, value,
                  [&](auto tag) { return to_double(from_double<decltype(tag)>(value)); });
}

bool is_exact(double value, DataType type) {
  return std::isfinite(value) && std::fabs(value) >= smallest_normal(type) &&
         rounded(value, type) == value;
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::fabs(std::frexp(value, &exponent)) == 0.5;
}

}  // namespace softneuro
