// Depthwise convolution on VNNI: the bytes of four kernel positions are shuffled together, so that
// vpdpbusd sums four products per channel.
#include <immintrin.h>

#include "routines/conv2/qint8_depthwise.h"

namespace softneuro::avx512vnni {
namespace {

#define SN_INLINE [[gnu::always_inline]] inline

// What a block of channels has in common for all positions.
struct Block {
  __m512i start[4];
  __m512 scale[4], bias[4];
  __mmask64 mask;  // channels that exist
  std::int64_t first;

  Block(const Qint8DepthwiseTask& t, std::int64_t block) : first(block * kDepthwiseBlock) {
    const std::int64_t left = t.channels - first;
    mask = left >= 64 ? ~0ull : (1ull << left) - 1;
    for (int i = 0; i < 4; ++i) {
      start[i] = _mm512_loadu_si512(t.start + first + 16 * i);
      scale[i] = _mm512_loadu_ps(t.scale + first + 16 * i);
      bias[i] = _mm512_loadu_ps(t.bias + first + 16 * i);
    }
  }
};

// Four kernel positions: sums[i] takes the channels 4i … 4i+3 of each 16.
template <bool Flip>
SN_INLINE void add_four(const std::uint8_t* const* taps, const Block& block, const __m512i* weights,
                        __m512i* sums) {
  __m512i x[4];
#pragma GCC unroll 4
  for (int t = 0; t < 4; ++t) {
    x[t] = _mm512_maskz_loadu_epi8(block.mask, taps[t] + block.first);
    if constexpr (Flip) x[t] = _mm512_xor_si512(x[t], _mm512_set1_epi8(static_cast<char>(0x80)));
  }
  const __m512i low01 = _mm512_unpacklo_epi8(x[0], x[1]);
  const __m512i high01 = _mm512_unpackhi_epi8(x[0], x[1]);
  const __m512i low23 = _mm512_unpacklo_epi8(x[2], x[3]);
  const __m512i high23 = _mm512_unpackhi_epi8(x[2], x[3]);
  sums[0] = _mm512_dpbusd_epi32(sums[0], _mm512_unpacklo_epi16(low01, low23), weights[0]);
  sums[1] = _mm512_dpbusd_epi32(sums[1], _mm512_unpackhi_epi16(low01, low23), weights[1]);
  sums[2] = _mm512_dpbusd_epi32(sums[2], _mm512_unpacklo_epi16(high01, high23), weights[2]);
  sums[3] = _mm512_dpbusd_epi32(sums[3], _mm512_unpackhi_epi16(high01, high23), weights[3]);
}

SN_INLINE void finish(const Qint8DepthwiseTask& t, const Block& block, std::int64_t position,
                      const __m512i* sums) {
  const std::int64_t at = position * t.channels + block.first;
  __m512i q[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512 y = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[i]), block.scale[i], block.bias[i]);
    if (t.floats != nullptr) {
      for (int l = 0; l < 4; ++l) {  // four channels each
        const auto mask = static_cast<__mmask8>(block.mask >> (16 * l + 4 * i) & 15u);
        const __m128 four = _mm512_castps512_ps128(
            _mm512_maskz_compress_ps(static_cast<__mmask16>(15u << (4 * l)), y));
        _mm_mask_storeu_ps(t.floats + at + 16 * l + 4 * i, mask, four);
      }
      continue;
    }
    // NaN becomes low: the second operand.
    const __m512 limited = _mm512_min_ps(
        _mm512_max_ps(_mm512_mul_ps(y, _mm512_set1_ps(t.inverse)), _mm512_set1_ps(t.low)),
        _mm512_set1_ps(t.high));
    q[i] = _mm512_add_epi32(_mm512_cvtps_epi32(limited), _mm512_set1_epi32(t.zero_point));
  }
  if (t.floats != nullptr) return;
  // Packing undoes what unpacking did to the order of the channels.
  const __m512i bits = _mm512_set1_epi32(255);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) q[i] = _mm512_and_si512(q[i], bits);
  const __m512i bytes =
      _mm512_packus_epi16(_mm512_packus_epi32(q[0], q[1]), _mm512_packus_epi32(q[2], q[3]));
  _mm512_mask_storeu_epi8(t.bytes + at, block.mask, bytes);
}

// Kernels of up to 4 · Groups positions: their weights stay in registers.
template <bool Flip, int Groups>
void run_block(const Qint8DepthwiseTask& t, std::int64_t b) noexcept {
  const Block block(t, b);
  const std::int8_t* w = t.weights + block.first * t.tap_count;
  __m512i weights[Groups][4];
  for (int g = 0; g < Groups; ++g)
    for (int i = 0; i < 4; ++i) weights[g][i] = _mm512_loadu_si512(w + 256 * g + 64 * i);
  for (std::int64_t p = 0; p < t.positions; ++p) {
    __m512i sums[4] = {block.start[0], block.start[1], block.start[2], block.start[3]};
#pragma GCC unroll 4
    for (int g = 0; g < Groups; ++g)
      add_four<Flip>(t.taps + p * 4 * Groups + 4 * g, block, weights[g], sums);
    finish(t, block, p, sums);
  }
}

template <bool Flip>
void run_long_block(const Qint8DepthwiseTask& t, std::int64_t b) noexcept {
  const Block block(t, b);
  for (std::int64_t p = 0; p < t.positions; ++p) {
    const std::int8_t* w = t.weights + block.first * t.tap_count;
    __m512i sums[4] = {block.start[0], block.start[1], block.start[2], block.start[3]};
    for (std::int64_t tap = 0; tap < t.tap_count; tap += 4, w += 256) {
      __m512i weights[4];
      for (int i = 0; i < 4; ++i) weights[i] = _mm512_loadu_si512(w + 64 * i);
      add_four<Flip>(t.taps + p * t.tap_count + tap, block, weights, sums);
    }
    finish(t, block, p, sums);
  }
}

template <bool Flip>
void run(const Qint8DepthwiseTask& t) noexcept {
  const std::int64_t blocks = (t.channels + kDepthwiseBlock - 1) / kDepthwiseBlock;
  for (std::int64_t b = 0; b < blocks; ++b) {
    if (t.tap_count == 4)
      run_block<Flip, 1>(t, b);
    else if (t.tap_count == 12)
      run_block<Flip, 3>(t, b);
    else
      run_long_block<Flip>(t, b);
  }
}

}  // namespace

void qint8_depthwise(const Qint8DepthwiseTask& task) noexcept {
  task.flip ? run<true>(task) : run<false>(task);
}

}  // namespace softneuro::avx512vnni
