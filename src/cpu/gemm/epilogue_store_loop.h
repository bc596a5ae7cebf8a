// The loops of EpilogueStore, for the files of the instruction sets that have the conversion.
#pragma once

#include <immintrin.h>

#include <limits>

#include "cpu/gemm/epilogue_store.h"

namespace softneuro::SN_ISA_NAMESPACE {

#define SN_INLINE [[gnu::always_inline]] inline

constexpr std::int64_t kLanes = 16;

enum class To { result, result_after_addition, floats };

SN_INLINE __m512 load_some(const Half* from, __mmask16 mask) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, from));
}
SN_INLINE __m512 load_some(const BFloat16* from, __mmask16 mask) {
  const __m512i bits = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}
SN_INLINE __m512 load_some(const float* from, __mmask16 mask) {
  return _mm512_maskz_loadu_ps(mask, from);
}
// (Stores with a mask of 16-bit elements take several times as long.)
SN_INLINE void store_halves(void* to, __mmask16 mask, __m256i halves) {
  if (mask == 0xffff)
    _mm256_storeu_si256(static_cast<__m256i*>(to), halves);
  else
    _mm256_mask_storeu_epi16(to, mask, halves);
}
SN_INLINE void store_some(Half* to, __mmask16 mask, __m512 v) {
  store_halves(to, mask, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
#if defined(__AVX512BF16__)
// (Takes numbers below float32's smallest normal one for zero, as the products do.)
SN_INLINE void store_some(BFloat16* to, __mmask16 mask, __m512 v) {
  store_halves(to, mask, (__m256i)_mm512_cvtneps_pbh(v));
}
#endif
SN_INLINE void store_some(float* to, __mmask16 mask, __m512 v) {
  _mm512_mask_storeu_ps(to, mask, v);
}

// One vector of columns.
template <To Target, class T>
class ColumnStore {
 public:
  SN_INLINE ColumnStore(const EpilogueStore<T>& store, std::int64_t column)
      : s(store), column_(column) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const std::int64_t left = s.columns - column;
    mask_ =
        static_cast<__mmask16>(left >= kLanes ? 0xffffu : (1u << static_cast<unsigned>(left)) - 1u);
    low_ = _mm512_set1_ps(s.clamp ? s.low : -kInfinity);
    high_ = _mm512_set1_ps(s.clamp ? s.high : kInfinity);
    bias_ = s.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask_, s.bias + column);
  }

  SN_INLINE void store_row(int r) const {
    finish(r, _mm512_maskz_loadu_ps(mask_, s.sums + r * s.sums_stride + column_));
  }
  SN_INLINE void finish(int r, __m512 sum) const {
    const std::int64_t to = r * s.y_stride + column_;
    __m512 v = _mm512_add_ps(sum, bias_);
    if (Target != To::result && s.addend != nullptr)
      v = _mm512_add_ps(v, load_some(s.addend + to, mask_));
    v = _mm512_min_ps(high_, _mm512_max_ps(low_, v));  // the second operand where either is NaN
    if constexpr (Target == To::floats)
      _mm512_mask_storeu_ps(s.floats + r * s.floats_stride + column_, mask_, v);
    else
      store_some(s.y + to, mask_, v);
  }

 private:
  const EpilogueStore<T>& s;
  std::int64_t column_;
  __mmask16 mask_;
  __m512 low_, high_, bias_;
};

// Of all rows.
template <To Target, class T>
void store_columns(const EpilogueStore<T>& s, std::int64_t column) noexcept {
  const ColumnStore<Target, T> columns(s, column);
  for (int r = 0; r < s.rows; ++r) columns.store_row(r);
}

template <class T>
SN_INLINE void store_sums(const EpilogueStore<T>& s) {
  for (std::int64_t j = 0; j < s.columns; j += kLanes) {
    if (s.floats != nullptr)
      store_columns<To::floats>(s, j);
    else if (s.addend != nullptr)
      store_columns<To::result_after_addition>(s, j);
    else
      store_columns<To::result>(s, j);
  }
}

}  // namespace softneuro::SN_ISA_NAMESPACE
