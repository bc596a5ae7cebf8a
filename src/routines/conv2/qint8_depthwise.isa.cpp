#include "routines/conv2/qint8_depthwise.h"

#include <cmath>

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

void finish(const Qint8DepthwiseTask& t, std::int64_t at, const float* y,
            std::int64_t count) noexcept {
  for (std::int64_t c = 0; c < count; ++c) {
    const float value = y[depthwise_lane(c)];
    if (t.floats != nullptr) {
      t.floats[at + c] = value;
      continue;
    }
    float limited = value * t.inverse;
    limited = limited > t.low ? limited : t.low;  // NaN becomes low
    limited = limited < t.high ? limited : t.high;
    t.bytes[at + c] = static_cast<std::uint8_t>(static_cast<std::int32_t>(std::nearbyint(limited)) +
                                                t.zero_point);
  }
}

// One block of channels of one position; lanes are summed as they are packed.
void run_block(const Qint8DepthwiseTask& t, std::int64_t position, std::int64_t block) noexcept {
  const std::int64_t first = block * kDepthwiseBlock;
  const std::int64_t left = t.channels - first;
  const std::int64_t count = left < kDepthwiseBlock ? left : kDepthwiseBlock;
  const std::int8_t* w = t.weights + first * t.tap_count;
  const std::uint8_t flip = t.flip ? 0x80 : 0;
  std::int32_t sums[kDepthwiseBlock];
  for (std::int64_t i = 0; i < kDepthwiseBlock; ++i) sums[i] = t.start[first + i];
  for (std::int64_t tap = 0; tap < t.tap_count; ++tap) {
    const std::uint8_t* x = t.taps[position * t.tap_count + tap] + first;
    const std::int8_t* of_tap =
        w + tap / kDepthwiseTaps * kDepthwiseTaps * kDepthwiseBlock + tap % kDepthwiseTaps;
    for (std::int64_t c = 0; c < count; ++c) {
      const std::int64_t lane = depthwise_lane(c);
      sums[lane] += (x[c] ^ flip) * of_tap[kDepthwiseTaps * lane];
    }
  }
  float y[kDepthwiseBlock];
  for (std::int64_t i = 0; i < kDepthwiseBlock; ++i)
    y[i] = static_cast<float>(sums[i]) * t.scale[first + i] + t.bias[first + i];
  finish(t, position * t.channels + first, y, count);
}

void run(const Qint8DepthwiseTask& t) noexcept {
  const std::int64_t blocks = (t.channels + kDepthwiseBlock - 1) / kDepthwiseBlock;
  for (std::int64_t p = 0; p < t.positions; ++p)
    for (std::int64_t b = 0; b < blocks; ++b) run_block(t, p, b);
}

}  // namespace

extern const Qint8DepthwiseOps kQint8DepthwiseOps;
const Qint8DepthwiseOps kQint8DepthwiseOps = {run};

}  // namespace softneuro::SN_ISA_NAMESPACE
