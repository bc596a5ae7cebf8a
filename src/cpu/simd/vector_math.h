// exp, log, erf and their kin for a vector of floats: for *.isa.cpp files only. No tables, no
// branches. The coefficients are Chebyshev fits made with 30 digits; the error bounds were
// measured over all magnitudes against double (tests/unit/span_ops_test.cpp holds them).
#pragma once

#include "cpu/simd/vector.h"

namespace softneuro::SN_ISA_NAMESPACE {

// c[0]·x^(n−1) + … + c[n−1].
template <int n>
SN_INLINE FloatV polynomial(FloatV x, const float (&c)[n]) {
  FloatV y = splat(c[0]);
  for (int i = 1; i < n; ++i) y = y * x + c[i];
  return y;
}

// 2^n for whole n in [−126, 127], from the bits of 1.5·2^23 + n.
SN_INLINE FloatV power_of_two(IntV n) {
  return as_float((n + 127) << 23);
}

// exp(x) = 2^n · (1 + tail), |tail| < 0.42; `whole` is n.
struct Exponential {
  IntV n;
  FloatV whole, tail;
};
// −150 < x / ln 2 < 130, or NaN.
SN_INLINE Exponential exponential_of_clamped(FloatV x) {
  const FloatV shift = splat(12582912.0f);  // 1.5·2^23: the sum's low bits are the whole number
  const FloatV shifted = x * 1.44269504f + shift;
  const FloatV n = shifted - shift;
  // ln 2 in two parts, the first exact when multiplied by a whole number below 2^9.
  const FloatV r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  static constexpr float c[] = {1.98919813e-4f, 1.39345419e-3f, 8.33331002e-3f,
                                4.16664568e-2f, 1.66666667e-1f, 5.00000000e-1f};
  return {as_int(shifted) - as_int(shift), n, polynomial(r, c) * (r * r) + r};
}
SN_INLINE Exponential exponential(FloatV x) {
  // Beyond these ends the result is 0 or infinity; NaN stays.
  return exponential_of_clamped(clamp(x, -104.0f, 89.0f));
}

// 2^n · (1 + tail).
SN_INLINE FloatV value_of(const Exponential& e) {
#if defined(__AVX512F__)
  return (FloatV)_mm512_scalef_ps((__m512)(e.tail + 1.0f), (__m512)e.whole);
#else
  const IntV half = e.n >> 1;  // in two steps: 2^n alone may be neither normal nor finite
  return (e.tail + 1.0f) * power_of_two(half) * power_of_two(e.n - half);
#endif
}

// Within 2 ulp; subnormal results within 1 of their last place.
SN_INLINE FloatV exp(FloatV x) {
  // What is 0 anyway (masks of attention) is not computed: where a product underflows, processors
  // take a hundred times as long.
  const IntV zero = x < -104.0f;
  const FloatV result =
      value_of(exponential_of_clamped(min(splat(89.0f), select(zero, FloatV{}, x))));
  return select(zero, FloatV{}, result);
}

// exp(x) − 1 without cancellation, within 3 ulp.
SN_INLINE FloatV expm1(FloatV x) {
  const Exponential e = exponential(x);
  const IntV half = e.n >> 1;
  const FloatV first = power_of_two(half), second = power_of_two(e.n - half);
  const FloatV result = e.tail * first * second + (first * second - 1.0f);
  // 0·∞ and the like at the far end; there exp(x) − 1 = exp(x).
  return select(x > 80.0f, (e.tail + 1.0f) * first * second, result);
}

// Within 2 ulp. −∞ at 0, NaN below.
SN_INLINE FloatV log(FloatV x) {
  const IntV tiny = (x < 1.17549435e-38f) & (x > 0.0f);  // subnormal
  const FloatV scaled = select(tiny, x * 8388608.0f, x);
  // x = 2^e · (1 + f), 1 + f in [√½, √2).
  // Wraps below zero, where the result is replaced.
  const IntV bits = (IntV)((UnsignedV)scaled - 0x3f3504f3u);
  const IntV exponent = (bits >> 23) - (tiny & splat(23));
  const FloatV f = as_float((bits & splat(0x007fffff)) + splat(0x3f3504f3)) - 1.0f;
  static constexpr float c[] = {6.97161147e-2f,  -1.14797338e-1f, 1.16854199e-1f,
                                -1.24256873e-1f, 1.42490576e-1f,  -1.66678023e-1f,
                                2.00007157e-1f,  -2.49999970e-1f, 3.33333312e-1f};
  const FloatV e = __builtin_convertvector(exponent, FloatV);
  const FloatV square = f * f;
  const FloatV small = polynomial(f, c) * (square * f) + e * -2.12194440e-4f - square * 0.5f;
  FloatV result = (f + small) + e * 0.693359375f;
  result = select(x == 0.0f, splat(-__builtin_inff()), result);
  result = select(x < 0.0f, splat(__builtin_nanf("")), result);
  return select((x == __builtin_inff()) | is_nan(x), x, result);
}

// log(1 + x) for x in [0, 1], within 3 ulp.
SN_INLINE FloatV log1p_small(FloatV x) {
  const FloatV u = x + 1.0f;
  return log(u) + (x - (u - 1.0f)) / u;  // what rounding took from u
}

// 1 / x within 2 ulp, for 2^−126 < x < 2^125 or NaN: quicker than a division where that is slow.
SN_INLINE FloatV reciprocal(FloatV x) {
#if defined(__AVX512F__)
  const FloatV y = (FloatV)_mm512_rcp14_ps((__m512)x);
  return y * (1.0f - x * y) + y;  // one step of Newton's
#else
  return 1.0f / x;
#endif
}

// 1 / (1 + exp(−x)), within 3 ulp, small results included.
SN_INLINE FloatV sigmoid(FloatV x) {
  const FloatV e = exp(-abs(x));
  return select(x < 0.0f, e, splat(1.0f)) * reciprocal(e + 1.0f);
}

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define SN_FUSES  // there is an instruction for a·b + c
// a·b + c, rounded once: where that matters it is not left to the compiler, which contracts sums of
// products at some levels of optimisation only.
SN_INLINE FloatV fused(FloatV a, FloatV b, FloatV c) {
#if defined(__AVX512F__)
  return (FloatV)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (FloatV)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return (FloatV)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#endif
}
#endif

// x / (1 + exp(−x·alpha)), within 4 ulp for x·alpha >= −87; below, where it is less than
// 2e−38·|x|, zero. The function of large maps: in as few instructions as that takes.
SN_INLINE FloatV silu(FloatV x, float alpha) {
#if defined(SN_FUSES)
  const double to_power = -1.4426950408889634 * static_cast<double>(alpha);  // exp(−x·alpha) = 2^…
  const float factor = static_cast<float>(to_power);
  const float rest = static_cast<float>(to_power - static_cast<double>(factor));
  const float end = 87.3f / __builtin_fabsf(alpha);  // there e is the reciprocal of a normal number
  const FloatV clamped = clamp(x, -end, end);
  const FloatV shift = splat(12582912.0f);  // 1.5·2^23: the sum's low bits are the whole number
  const FloatV shifted = clamped * factor + shift;
  const FloatV f = fused(clamped, splat(rest), fused(clamped, splat(factor), shift - shifted));
  static constexpr float c[] = {1.54531629e-4f,
                                1.33908634e-3f,
                                9.61808256e-3f,
                                5.55035711e-2f,
                                2.40226508e-1f,
                                6.93147188e-1f,
                                1.0f};
  // Times 2^n: n's bits, moved to those of the exponent.
  const IntV n = (IntV)((UnsignedV)shifted << 23);
  const FloatV e = as_float(as_int(polynomial(f, c)) + n);
  return x * select(e > 7e37f, FloatV{}, reciprocal(e + 1.0f));
#else  // the rounded product clamped · factor would be too coarse
  const FloatV scaled = x * alpha;
  const FloatV e = value_of(exponential_of_clamped(-clamp(scaled, -87.0f, 87.0f)));
  return x * select(scaled < -87.0f, FloatV{}, reciprocal(e + 1.0f));
#endif
}

// Within 4 ulp.
SN_INLINE FloatV tanh(FloatV x) {
  const FloatV e = expm1(abs(x) * -2.0f);
  return copysign(e / (e + 2.0f), x);
}

// erfc(z) for z >= 0, within 4 ulp up to z = 2 and z² ulp beyond. exp(−z²)·t·q(t) with
// t = 1 / (1 + p·z), the form of Abramowitz and Stegun 7.1.26 with a longer polynomial.
SN_INLINE FloatV erfc_positive(FloatV z) {
  z = min(splat(10.5f), z);  // 0 beyond, without ∞ − ∞
  const FloatV t = 1.0f / (z * 0.3275911f + 1.0f);
  static constexpr float c[] = {5.96527119e-2f, -3.33280625e-1f, 6.65328001e-1f, -6.10722187e-1f,
                                5.43579186e-1f, -7.31013440e-2f, 2.13840840e-1f, 1.63934052e-1f,
                                1.86001102e-1f, 1.84768263e-1f};
  return exp(-(z * z)) * (t * polynomial(t, c));
}

// Within 3 ulp.
SN_INLINE FloatV erf(FloatV x) {
  static constexpr float c[] = {7.87587506e-5f, -8.01686429e-4f, 5.18908742e-3f, -2.68542120e-2f,
                                1.12835947e-1f, -3.76126267e-1f, 1.12837917f};
  const FloatV magnitude = abs(x);
  const FloatV large = copysign(1.0f - erfc_positive(magnitude), x);
  return select(magnitude < 1.0f, polynomial(x * x, c) * x, large);
}

SN_INLINE FloatV softplus(FloatV x) {
  return max(splat(0.0f), x) + log1p_small(exp(-abs(x)));
}

// x · ½ · erfc(−x / √2).
SN_INLINE FloatV gelu(FloatV x) {
  const FloatV h = erfc_positive(abs(x) * 0.707106781f) * 0.5f;
  return x * select(x < 0.0f, h, 1.0f - h);
}

// x · tanh(softplus(x)), with e = exp(x): tanh(log(1 + e)) = e(e + 2) / (e(e + 2) + 2).
SN_INLINE FloatV mish(FloatV x) {
  const FloatV e = exp(min(splat(20.0f), x));
  const FloatV n = e * (e + 2.0f);
  return x * (n / (n + 2.0f));
}

}  // namespace softneuro::SN_ISA_NAMESPACE
