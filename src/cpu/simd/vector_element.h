// One vector of floats from and to memory of any real data type: for *.isa.cpp files only.
#pragma once

#include <bit>
#include <limits>
#include <type_traits>

#include "cpu/simd/vector.h"
#include "softneuro/types.h"

namespace softneuro::SN_ISA_NAMESPACE {

template <class T>
using NarrowV __attribute__((vector_size(sizeof(T) * kLanes))) = T;

// kLanes elements; int8 and uint8 as the numbers that they are.
SN_INLINE FloatV load_element(const float* p) {
  return load(p);
}
SN_INLINE FloatV load_element(const Half* p) {
#if defined(__AVX512F__)
  return (FloatV)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif defined(__F16C__)
  return (FloatV)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#elif defined(__aarch64__)
  float16x4_t bits;
  __builtin_memcpy(&bits, p, sizeof bits);
  return (FloatV)vcvt_f32_f16(bits);
#else
  FloatV v;
  for (int i = 0; i < kLanes; ++i) v[i] = to_float(p[i]);
  return v;
#endif
}
SN_INLINE FloatV load_element(const BFloat16* p) {
  NarrowV<std::uint16_t> bits;
  __builtin_memcpy(&bits, p, sizeof bits);
  return (FloatV)(__builtin_convertvector(bits, UnsignedV) << 16);
}
// (The compilers' own conversion of a narrow vector goes step by step.)
template <class T>
SN_INLINE IntV load_bytes(const T* p) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return (IntV)(static_cast<T>(-1) < 0 ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes));
#elif defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return (IntV)(static_cast<T>(-1) < 0 ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
#else
  NarrowV<T> bytes;
  __builtin_memcpy(&bytes, p, sizeof bytes);
  return __builtin_convertvector(bytes, IntV);
#endif
}
SN_INLINE FloatV load_element(const std::uint8_t* p) {
  return __builtin_convertvector(load_bytes(p), FloatV);
}
SN_INLINE FloatV load_element(const std::int8_t* p) {
  return __builtin_convertvector(load_bytes(p), FloatV);
}

// Rounded to nearest even.
SN_INLINE void store_element(float* p, FloatV v) {
  store(p, v);
}
SN_INLINE void store_element(Half* p, FloatV v) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__aarch64__)
  const float16x4_t bits = vcvt_f16_f32((float32x4_t)v);
  __builtin_memcpy(static_cast<void*>(p), &bits, sizeof bits);
#else
  for (int i = 0; i < kLanes; ++i) p[i] = to_half(v[i]);
#endif
}
SN_INLINE void store_element(BFloat16* p, FloatV v) {
  const UnsignedV bits = (UnsignedV)v;
  const UnsignedV rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const UnsignedV nan = (bits >> 16) | 0x40;
  const auto narrow = __builtin_convertvector(is_nan(v) ? nan : rounded, NarrowV<std::uint16_t>);
  __builtin_memcpy(static_cast<void*>(p), &narrow, sizeof narrow);
}

// To the nearest whole number, half to even. Precondition: an int32 can hold it.
SN_INLINE IntV nearest(FloatV v) {
#if defined(__AVX512F__)
  return (IntV)_mm512_cvtps_epi32((__m512)v);
#elif defined(__AVX2__)
  return (IntV)_mm256_cvtps_epi32((__m256)v);
#elif defined(__aarch64__)
  return (IntV)vcvtnq_s32_f32((float32x4_t)v);
#else
  return __builtin_convertvector(round(v), IntV);
#endif
}
// level_of() of core/base/level.h for each lane, among the numbers of T: int8, uint8, int16 or
// uint16. NaN gives the lowest.
template <class T>
SN_INLINE NarrowV<T> levels(FloatV quotient, IntV zero_point) {
  using Limits = std::numeric_limits<T>;
  const FloatV zero = __builtin_convertvector(zero_point, FloatV);
  const FloatV low = static_cast<float>(Limits::lowest()) - zero;
  const FloatV high = static_cast<float>(Limits::max()) - zero;
  const IntV level = nearest(min(max(quotient, low), high)) + zero_point;
  return __builtin_convertvector(level, NarrowV<T>);
}
// Real types: as store_element(), where the zero point is 0. int8, uint8: `v` in units of the
// scale.
template <class T>
SN_INLINE void store_quotient(T* p, FloatV v, [[maybe_unused]] IntV zero_point) {
  if constexpr (std::is_integral_v<T>) {
    const NarrowV<T> bytes = levels<T>(v, zero_point);
    __builtin_memcpy(static_cast<void*>(p), &bytes, sizeof bytes);
  } else {
    store_element(p, v);
  }
}

// The first `count` (0 < count < kLanes) elements alone; the other lanes are those of zero bits.
template <class T>
SN_INLINE FloatV load_elements(const T* p, std::int64_t count) {
  T some[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) some[i] = p[i];
  return load_element(some);
}
template <class T>
SN_INLINE void store_quotients(T* p, FloatV v, IntV zero_point, std::int64_t count) {
  T some[kLanes];
  store_quotient(some, v, zero_point);
  for (std::int64_t i = 0; i < count; ++i) p[i] = some[i];
}
template <class T>
SN_INLINE void store_elements(T* p, FloatV v, std::int64_t count) {
  store_quotients(p, v, IntV{}, count);
}
SN_INLINE FloatV load_elements(const float* p, std::int64_t count) {
  return load_first(p, count);
}
SN_INLINE void store_elements(float* p, FloatV v, std::int64_t count) {
  store_first(p, v, count);
}
SN_INLINE void store_quotients(float* p, FloatV v, IntV /*zero_point*/, std::int64_t count) {
  store_first(p, v, count);
}

}  // namespace softneuro::SN_ISA_NAMESPACE
