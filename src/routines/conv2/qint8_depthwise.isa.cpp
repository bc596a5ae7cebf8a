// Quantised depthwise convolution without VNNI.
#include "routines/conv2/qint8_depthwise.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/level.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

#if defined(__AVX2__)

// Channels that are summed together. Two registers hold what belongs to them: channels 0 to 3 and 8
// to 11, and the others, as the unpacking of 16-bit numbers leaves them.
constexpr std::int64_t kChannels = 16;
struct Halves {
  __m256i low, high;
};

// What 16 channels have in common for all positions; two kernel positions each make a pair.
struct Channels {
  Halves weights[kDepthwiseMostTaps / 2];
  Halves start;
  __m256 scale_low, scale_high, bias_low, bias_high;
};

// The numbers of 16 channels from a table of a block; `table` points at those of the first four.
template <class T>
Halves from_table(const T* table) noexcept {
  const auto four = [&](int i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * i));
  };
  return {_mm256_set_m128i(four(2), four(0)), _mm256_set_m128i(four(3), four(1))};
}

// 16 channels from `first` on, a multiple of 16.
void load_channels(const Qint8DepthwiseTask& t, std::int64_t first, Channels& channels) noexcept {
  const std::int64_t block = first / kDepthwiseBlock * kDepthwiseBlock;
  const std::int64_t lane = depthwise_lane(first - block);
  const std::int8_t* w = t.weights + block * t.tap_count + kDepthwiseTaps * lane;
  for (std::int64_t tap = 0; tap < t.tap_count; tap += 4, w += 4 * kDepthwiseBlock) {
    // Of four channels: the pairs of their first two positions, then of the others.
    const auto pairs_of = [&](int i) {
      const __m256i four = _mm256_cvtepi8_epi16(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(w + 16 * kDepthwiseTaps * i)));
      return _mm256_permutevar8x32_epi32(four, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
    };
    const __m256i a = pairs_of(0), b = pairs_of(1), c = pairs_of(2), d = pairs_of(3);
    Halves* const to = channels.weights + tap / 2;
    to[0] = {_mm256_permute2x128_si256(a, c, 0x20), _mm256_permute2x128_si256(b, d, 0x20)};
    to[1] = {_mm256_permute2x128_si256(a, c, 0x31), _mm256_permute2x128_si256(b, d, 0x31)};
  }
  channels.start = from_table(t.start + block + lane);
  const Halves scale = from_table(t.scale + block + lane), bias = from_table(t.bias + block + lane);
  channels.scale_low = _mm256_castsi256_ps(scale.low);
  channels.scale_high = _mm256_castsi256_ps(scale.high);
  channels.bias_low = _mm256_castsi256_ps(bias.low);
  channels.bias_high = _mm256_castsi256_ps(bias.high);
}

inline __m256i quantized(const Qint8DepthwiseTask& t, __m256 y) noexcept {
  // NaN becomes low: the second operand.
  y = _mm256_max_ps(_mm256_mul_ps(y, _mm256_set1_ps(t.inverse)), _mm256_set1_ps(t.low));
  y = _mm256_min_ps(y, _mm256_set1_ps(t.high));
  const __m256i q = _mm256_add_epi32(_mm256_cvtps_epi32(y), _mm256_set1_epi32(t.zero_point));
  return _mm256_and_si256(q, _mm256_set1_epi32(0xff));
}

void finish(const Qint8DepthwiseTask& t, const Channels& channels, const Halves& sums,
            std::int64_t at, std::int64_t count) noexcept {
  const __m256 low =
      _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums.low), channels.scale_low, channels.bias_low);
  const __m256 high =
      _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums.high), channels.scale_high, channels.bias_high);
  if (t.floats != nullptr) {
    float y[kChannels];
    float* const to = count == kChannels ? t.floats + at : y;
    _mm256_storeu_ps(to, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(to + 8, _mm256_permute2f128_ps(low, high, 0x31));
    if (to == y) std::copy_n(y, count, t.floats + at);
    return;
  }
  const __m256i words = _mm256_packus_epi32(quantized(t, low), quantized(t, high));
  const __m128i bytes =
      _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  std::uint8_t q[kChannels];
  std::uint8_t* const to = count == kChannels ? t.bytes + at : q;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  if (to == q) std::copy_n(q, count, t.bytes + at);
}

// `count` channels from `first` on, at all positions.
template <bool Whole>
void run_channels(const Qint8DepthwiseTask& task, std::int64_t first, std::int64_t count) noexcept {
  const Qint8DepthwiseTask t = task;  // no store of bytes may alias it
  const std::int64_t pairs = (t.kernel_elements + 1) / 2;
  Channels channels;  // NOLINT(cppcoreguidelines-pro-type-member-init): large, and filled here
  load_channels(t, first, channels);
  const __m128i flip = _mm_set1_epi8(static_cast<char>(t.flip ? 0x80 : 0));
  const auto load = [&](const std::uint8_t* x) {
    std::uint8_t some[kChannels] = {};
    if constexpr (!Whole) x = std::copy_n(x, count, some) - count;
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
    return _mm256_cvtepu8_epi16(_mm_xor_si128(bytes, flip));
  };
  for (std::int64_t p = 0; p < t.positions; ++p) {
    const std::uint8_t* const* const taps = t.taps + p * t.tap_count;
    Halves sums = channels.start;
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const __m256i a = load(taps[2 * pair] + first), b = load(taps[2 * pair + 1] + first);
      const Halves& w = channels.weights[pair];
      sums.low = _mm256_add_epi32(sums.low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w.low));
      sums.high =
          _mm256_add_epi32(sums.high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w.high));
    }
    finish(t, channels, sums, p * t.channels + first, count);
  }
}

void run(const Qint8DepthwiseTask& t) noexcept {
  std::int64_t first = 0;
  for (; first + kChannels <= t.channels; first += kChannels)
    run_channels<true>(t, first, kChannels);
  if (first < t.channels) run_channels<false>(t, first, t.channels - first);
}

#else

void finish(const Qint8DepthwiseTask& t, std::int64_t at, const float* y,
            std::int64_t count) noexcept {
  for (std::int64_t c = 0; c < count; ++c) {
    const float value = y[depthwise_lane(c)];
    if (t.floats != nullptr) {
      t.floats[at + c] = value;
      continue;
    }
    t.bytes[at + c] =
        static_cast<std::uint8_t>(level_of(value * t.inverse, t.low, t.high, t.zero_point));
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

#endif

}  // namespace

extern const Qint8DepthwiseOps kQint8DepthwiseOps;
const Qint8DepthwiseOps kQint8DepthwiseOps = {run};

}  // namespace softneuro::SN_ISA_NAMESPACE
