// One vector of floats, as wide as the instruction set of the file that includes this: for
// *.isa.cpp files only. Built on the compilers' vector types, so that code is vectorised whatever
// the optimisation level, and every lane computes what the others would.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace softneuro::SN_ISA_NAMESPACE {

#define SN_INLINE [[gnu::always_inline]] inline

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif

using FloatV = float __attribute__((vector_size(4 * kLanes)));
using IntV = std::int32_t __attribute__((vector_size(4 * kLanes)));
using UnsignedV = std::uint32_t __attribute__((vector_size(4 * kLanes)));  // where sums wrap

SN_INLINE FloatV splat(float value) {
  return value - FloatV{};
}
SN_INLINE IntV splat(std::int32_t value) {
  return value - IntV{};
}

SN_INLINE FloatV load(const float* p) {
  FloatV v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
SN_INLINE IntV load_int(const std::int32_t* p) {
  IntV v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
SN_INLINE void store(float* p, FloatV v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// The first `count` (0 < count < kLanes) lanes; nothing behind p[count − 1] is touched. The other
// lanes are `fill`.
SN_INLINE FloatV load_first(const float* p, std::int64_t count, float fill = 0.0f) {
#if defined(__AVX512F__)
  return (FloatV)_mm512_mask_loadu_ps((__m512)splat(fill),
                                      static_cast<__mmask16>((1u << count) - 1u), p);
#else
  float lanes[kLanes];
  store(lanes, splat(fill));
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = p[i];
  return load(lanes);
#endif
}
SN_INLINE void store_first(float* p, FloatV v, std::int64_t count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1u), (__m512)v);
#else
  float lanes[kLanes];
  store(lanes, v);
  for (std::int64_t i = 0; i < count; ++i) p[i] = lanes[i];
#endif
}

SN_INLINE IntV as_int(FloatV v) {
  return (IntV)v;
}
SN_INLINE FloatV as_float(IntV v) {
  return (FloatV)v;
}
SN_INLINE FloatV select(IntV mask, FloatV yes, FloatV no) {
  return mask ? yes : no;
}
// Lane l of the result is lane lanes[l] of v; lanes are in [0, kLanes).
SN_INLINE FloatV permute(FloatV v, IntV lanes) {
#if defined(__AVX512F__)
  return (FloatV)_mm512_permutexvar_ps((__m512i)lanes, (__m512)v);
#elif defined(__AVX2__)
  return (FloatV)_mm256_permutevar8x32_ps((__m256)v, (__m256i)lanes);
#else
  FloatV permuted;
  for (int i = 0; i < kLanes; ++i) permuted[i] = v[lanes[i]];
  return permuted;
#endif
}
SN_INLINE IntV is_nan(FloatV v) {
  return v != v;
}

// As the x86 instructions: b where either is NaN.
SN_INLINE FloatV min(FloatV a, FloatV b) {
#if defined(__AVX512F__)
  return (FloatV)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (FloatV)_mm256_min_ps((__m256)a, (__m256)b);
#else
  return select(a < b, a, b);
#endif
}
SN_INLINE FloatV max(FloatV a, FloatV b) {
#if defined(__AVX512F__)
  return (FloatV)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (FloatV)_mm256_max_ps((__m256)a, (__m256)b);
#else
  return select(a > b, a, b);
#endif
}
// NaN in v stays.
SN_INLINE FloatV clamp(FloatV v, float low, float high) {
  return min(splat(high), max(splat(low), v));
}

SN_INLINE FloatV abs(FloatV v) {
  return as_float(as_int(v) & splat(0x7fffffff));
}
// |magnitude| with the sign of `sign`.
SN_INLINE FloatV copysign(FloatV magnitude, FloatV sign) {
  return as_float((as_int(magnitude) & splat(0x7fffffff)) |
                  (as_int(sign) & splat(static_cast<std::int32_t>(0x80000000u))));
}

SN_INLINE FloatV sqrt(FloatV v) {
#if defined(__AVX512F__)
  return (FloatV)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX2__)
  return (FloatV)_mm256_sqrt_ps((__m256)v);
#elif defined(__aarch64__)
  return (FloatV)vsqrtq_f32((float32x4_t)v);
#else
  for (int i = 0; i < kLanes; ++i) v[i] = __builtin_sqrtf(v[i]);
  return v;
#endif
}

// To the nearest whole number, half to even.
SN_INLINE FloatV round(FloatV v) {
#if defined(__AVX512F__)
  return (FloatV)_mm512_roundscale_ps((__m512)v, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__AVX2__)
  return (FloatV)_mm256_round_ps((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__aarch64__)
  return (FloatV)vrndnq_f32((float32x4_t)v);
#else
  const FloatV magnitude = abs(v);
  const FloatV shift = splat(8388608.0f);  // 2^23: the sum has no bits for fractions
  const FloatV rounded = (magnitude + shift) - shift;
  return copysign(select(magnitude < shift, rounded, magnitude), v);
#endif
}
SN_INLINE FloatV floor(FloatV v) {
#if defined(__AVX512F__)
  return (FloatV)_mm512_roundscale_ps((__m512)v, _MM_FROUND_TO_NEG_INF);
#elif defined(__AVX2__)
  return (FloatV)_mm256_round_ps((__m256)v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif defined(__aarch64__)
  return (FloatV)vrndmq_f32((float32x4_t)v);
#else
  const FloatV rounded = round(v);
  return select(rounded > v, rounded - 1.0f, rounded);
#endif
}
SN_INLINE FloatV ceil(FloatV v) {
  return -floor(-v);
}

// The sum and the largest of all lanes, in a fixed tree (NaN may get lost in the latter).
SN_INLINE float sum_of_lanes(FloatV v) {
  float lanes[kLanes];
  store(lanes, v);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}
SN_INLINE float max_of_lanes(FloatV v) {
  float lanes[kLanes];
  store(lanes, v);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i)
      lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
  return lanes[0];
}

}  // namespace softneuro::SN_ISA_NAMESPACE
