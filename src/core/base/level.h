// The one rounding of quantised tensors: what a number becomes among whole numbers of 8 or 16 bits.
// For vectors it is in cpu/simd/vector_element.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "softneuro/types.h"

namespace softneuro {

// round(quotient) + zero_point, half to even, where the rounded number is held within [low, high]:
// whole numbers, the ends of the type less the zero point. That is added last: in front of the
// rounding an odd one would turn every tie the other way. NaN gives `low`.
inline std::int32_t level_of(float quotient, float low, float high,
                             std::int32_t zero_point) noexcept {
  const float raised = quotient > low ? quotient : low;
  return static_cast<std::int32_t>(std::nearbyint(raised < high ? raised : high)) + zero_point;
}

struct LevelRange {
  std::int32_t low = 0, high = 0;
};
template <class T>
constexpr LevelRange levels_of() noexcept {
  return {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
}
// `type`: int8, uint8, int16, uint16.
constexpr LevelRange levels_of(DataType type) noexcept {
  switch (type) {
    case DataType::int8:
      return levels_of<std::int8_t>();
    case DataType::uint8:
      return levels_of<std::uint8_t>();
    case DataType::int16:
      return levels_of<std::int16_t>();
    default:
      return levels_of<std::uint16_t>();
  }
}

// Among all levels of a type.
inline std::int32_t level_of(float quotient, LevelRange range, std::int32_t zero_point) noexcept {
  return level_of(quotient, static_cast<float>(range.low - zero_point),
                  static_cast<float>(range.high - zero_point), zero_point);
}

}  // namespace softneuro
