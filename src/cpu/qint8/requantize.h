// The last step of a routine whose output is qint8 or float32: from float32 results to the output.
#pragma once

#include <cstdint>

#include "core/base/level.h"
#include "cpu/qint8/weights.h"

namespace softneuro {

// saturate(round(y · inverse) + zero point), half to even; NaN gives the lowest number.
struct Requantize {
  float inverse = 1;  // 1 / scale
  float low = 0;      // what round() may give, so that the sum stays in range
  float high = 0;
  std::int32_t zero_point = 0;

  Requantize() = default;
  explicit Requantize(const TensorScale& to)
      : inverse(1.0f / to.scale),
        low(static_cast<float>(to.low() - to.zero_point)),
        high(static_cast<float>(to.high() - to.zero_point)),
        zero_point(to.zero_point) {}

  std::uint8_t operator()(float y) const noexcept {
    return static_cast<std::uint8_t>(level_of(y * inverse, low, high, zero_point));
  }
};

}  // namespace softneuro
