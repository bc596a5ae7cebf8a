// Sums in float32 to results in float16, for HalfTileOps.
#include <immintrin.h>

#include <limits>

#include "core/gemm/half_tile.h"

namespace softneuro::avx512 {
namespace {

constexpr std::int64_t kLanes = 16;

enum class To { half, half_after_addition, floats };

// One vector of columns of all rows.
template <To Target>
void store_columns(const HalfStore& s, std::int64_t column) noexcept {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::int64_t left = s.columns - column;
  const auto mask =
      static_cast<__mmask16>(left >= kLanes ? 0xffffu : (1u << static_cast<unsigned>(left)) - 1u);
  const __m512 low = _mm512_set1_ps(s.clamp ? s.low : -kInfinity);
  const __m512 high = _mm512_set1_ps(s.clamp ? s.high : kInfinity);
  const __m512 bias =
      s.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, s.bias + column);
  for (int r = 0; r < s.rows; ++r) {
    const std::int64_t from = r * s.sums_stride + column, to = r * s.y_stride + column;
    __m512 v = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, s.sums + from), bias);
    if (Target == To::half_after_addition || (Target == To::floats && s.addend != nullptr))
      v = _mm512_add_ps(v, _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, s.addend + to)));
    v = _mm512_min_ps(high, _mm512_max_ps(low, v));  // the second operand where either is NaN
    if constexpr (Target == To::floats)
      _mm512_mask_storeu_ps(s.floats + from, mask, v);
    else
      _mm256_mask_storeu_epi16(s.y + to, mask, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
}

}  // namespace

void half_store(const HalfStore& s) noexcept;
void half_store(const HalfStore& s) noexcept {
  for (std::int64_t j = 0; j < s.columns; j += kLanes) {
    if (s.floats != nullptr)
      store_columns<To::floats>(s, j);
    else if (s.addend != nullptr)
      store_columns<To::half_after_addition>(s, j);
    else
      store_columns<To::half>(s, j);
  }
}

}  // namespace softneuro::avx512
