// The inner loops of quantised depthwise convolution, one variant per instruction set.
#pragma once

#include <cstdint>

namespace softneuro {

inline constexpr std::int64_t kDepthwiseBlock = 64;  // channels that are packed together
inline constexpr std::int64_t kDepthwiseTaps = 4;    // kernel positions that are summed together
inline constexpr std::int64_t kDepthwiseMostTaps = 1024;

// Where channel c of a block stands in the tables of the block: as the shuffles of the widest
// variant leave it.
constexpr std::int64_t depthwise_lane(std::int64_t c) noexcept {
  return c % 16 / 4 * 16 + c / 16 * 4 + c % 4;
}

// Output positions with all their channels: y[p, c] = fma(start[c] + Σ x[tap, c] · w[tap, c],
// scale[c], bias[c]), then float32 or bytes as in cpu/gemm/int8_tile.h. It has many fields because
// one call of an inner loop reads them all.
struct Qint8DepthwiseTask {
  // taps[p · tap_count + t]: the channels of one input position; tap_count is a multiple of
  // kDepthwiseTaps and at most kDepthwiseMostTaps, what is missing points anywhere (its weights are
  // 0).
  const std::uint8_t* const* taps = nullptr;
  std::int64_t tap_count = 0;
  std::int64_t kernel_elements = 0;  // taps that count: those behind them have weights of 0
  std::int64_t positions = 0;
  std::int64_t channels = 0;
  bool flip = false;  // x is signed; it is read as x + 128

  // For each block of channels: [tap_count / 4][64 lanes][4 taps]; and per block 64 lanes each.
  const std::int8_t* weights = nullptr;
  const std::int32_t* start = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;

  float* floats = nullptr;  // given: float32 is stored there, else bytes; [positions][channels]
  std::uint8_t* bytes = nullptr;
  float inverse = 1, low = 0, high = 255;
  std::int32_t zero_point = 0;
};

using Qint8DepthwiseFunction = void (*)(const Qint8DepthwiseTask&) noexcept;
struct Qint8DepthwiseOps {
  Qint8DepthwiseFunction run;
};
// The best for this processor.
Qint8DepthwiseFunction qint8_depthwise_function() noexcept;

namespace avx512vnni {
void qint8_depthwise(const Qint8DepthwiseTask& task) noexcept;
}

}  // namespace softneuro
