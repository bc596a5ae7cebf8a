// The order of a tensor's elements.
#pragma once

#include "core/base/element.h"

namespace softneuro {

// Negative, zero or positive as a < b, a == b, a > b. NaN equals NaN and is above all numbers.
template <class T>
int compare_numbers(T a, T b) noexcept {
  if (a != a || b != b) return static_cast<int>(a != a) - static_cast<int>(b != b);
  return static_cast<int>(a > b) - static_cast<int>(a < b);
}
// The same of elements i and j of `x`.
inline int compare_elements(const TensorView& x, std::int64_t i, std::int64_t j) noexcept {
  if (is_float(x.type)) return compare_numbers(load(x, i), load(x, j));
  const std::int64_t a = load_integer(x, i), b = load_integer(x, j);
  return x.type == DataType::uint64
             ? compare_numbers(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b))
             : compare_numbers(a, b);
}

}  // namespace softneuro
