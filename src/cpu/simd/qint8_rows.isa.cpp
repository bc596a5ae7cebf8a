#include "cpu/simd/qint8_rows.h"

#include "cpu/simd/vector_element.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

template <class T, bool per_element>
void dequantize_loop(const T* x, float* y, std::int64_t count, const Qint8Scale& s) noexcept {
  FloatV scale = splat(s.scales[0]);
  FloatV zero_point = splat(static_cast<float>(s.zero_points[0]));
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    if constexpr (per_element) {
      scale = load(s.scales + i);
      zero_point = __builtin_convertvector(load_int(s.zero_points + i), FloatV);
    }
    store(y + i, (load_element(x + i) - zero_point) * scale);  // the difference is exact
  }
  for (; i < count; ++i) {
    const std::int64_t k = per_element ? i : 0;
    y[i] = (static_cast<float>(x[i]) - static_cast<float>(s.zero_points[k])) * s.scales[k];
  }
}

void dequantize(const void* x, float* y, std::int64_t count, const Qint8Scale& s) noexcept {
  const auto* u = static_cast<const std::uint8_t*>(x);
  const auto* i = static_cast<const std::int8_t*>(x);
  if (s.per_element)
    s.is_signed ? dequantize_loop<std::int8_t, true>(i, y, count, s)
                : dequantize_loop<std::uint8_t, true>(u, y, count, s);
  else
    s.is_signed ? dequantize_loop<std::int8_t, false>(i, y, count, s)
                : dequantize_loop<std::uint8_t, false>(u, y, count, s);
}

template <class T>
SN_INLINE NarrowV<T> quantized(FloatV x, FloatV scale, IntV zero_point) {
  const FloatV v = x / scale;
  return levels<T>(select(is_nan(v), FloatV{}, v), zero_point);
}

template <class T, bool per_element>
void quantize_loop(const float* x, T* y, std::int64_t count, const Qint8Scale& s) noexcept {
  FloatV scale = splat(s.scales[0]);
  IntV zero_point = splat(s.zero_points[0]);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    if constexpr (per_element) {
      scale = load(s.scales + i);
      zero_point = load_int(s.zero_points + i);
    }
    const NarrowV<T> q = quantized<T>(load(x + i), scale, zero_point);
    __builtin_memcpy(y + i, &q, sizeof q);
  }
  for (; i < count; ++i) {  // the same vector code for each of the rest
    const std::int64_t k = per_element ? i : 0;
    y[i] = quantized<T>(splat(x[i]), splat(s.scales[k]), splat(s.zero_points[k]))[0];
  }
}

void quantize(const float* x, void* y, std::int64_t count, const Qint8Scale& s) noexcept {
  auto* u = static_cast<std::uint8_t*>(y);
  auto* i = static_cast<std::int8_t*>(y);
  if (s.per_element)
    s.is_signed ? quantize_loop<std::int8_t, true>(x, i, count, s)
                : quantize_loop<std::uint8_t, true>(x, u, count, s);
  else
    s.is_signed ? quantize_loop<std::int8_t, false>(x, i, count, s)
                : quantize_loop<std::uint8_t, false>(x, u, count, s);
}

void map_by_one(const Qint8Table& table, const std::uint8_t* x, std::uint8_t* y,
                std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) y[i] = table[x[i]];
}

#if defined(__AVX512F__)
// Two look-ups of 128 entries each, for processors with VBMI.
[[gnu::target("avx512vbmi")]] void map_by_64(const Qint8Table& table, const std::uint8_t* x,
                                             std::uint8_t* y, std::int64_t count) noexcept {
  __m512i part[4];
  for (int k = 0; k < 4; ++k) part[k] = _mm512_loadu_si512(table.data() + 64 * k);
  const auto look_up = [&](__m512i q) __attribute__((always_inline, target("avx512vbmi"))) {
    const __m512i low = _mm512_permutex2var_epi8(part[0], q, part[1]);
    const __m512i high = _mm512_permutex2var_epi8(part[2], q, part[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(q), low, high);
  };
  std::int64_t i = 0;
  for (; i + 64 <= count; i += 64) _mm512_storeu_si512(y + i, look_up(_mm512_loadu_si512(x + i)));
  if (i == count) return;
  const __mmask64 rest = (std::uint64_t{1} << (count - i)) - 1;
  _mm512_mask_storeu_epi8(y + i, rest, look_up(_mm512_maskz_loadu_epi8(rest, x + i)));
}
#endif

void map(const Qint8Table& table, const std::uint8_t* x, std::uint8_t* y,
         std::int64_t count) noexcept {
#if defined(__AVX512F__)
  if (__builtin_cpu_supports("avx512vbmi")) return map_by_64(table, x, y, count);
#endif
  map_by_one(table, x, y, count);
}

template <class A, class B, class Y>
void combine_rows(const Qint8Form& f, const A* a, std::int64_t a_step, const B* b,
                  std::int64_t b_step, Y* y, std::int64_t count) noexcept {
  const FloatV one_a = splat(static_cast<float>(*a)), one_b = splat(static_cast<float>(*b));
  const IntV zero_point = splat(f.zero_point);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t lanes = count - i;
    FloatV va = one_a, vb = one_b;
    if (lanes >= kLanes) {
      if (a_step != 0) va = load_element(a + i);
      if (b_step != 0) vb = load_element(b + i);
    } else {
      if (a_step != 0) va = load_elements(a + i, lanes);
      if (b_step != 0) vb = load_elements(b + i, lanes);
    }
    // (a + ab·B)·A + (b·B + c)
    const FloatV v = (vb * f.ab + f.a) * va + (vb * f.b + f.c);
    if (lanes >= kLanes)
      store_quotient(y + i, v, zero_point);
    else
      store_quotients(y + i, v, zero_point, lanes);
  }
}

// Calls g with `data` as the numbers that its bytes are.
template <class G>
SN_INLINE void with_sign(bool is_signed, const void* data, G&& g) {
  if (is_signed)
    g(static_cast<const std::int8_t*>(data));
  else
    g(static_cast<const std::uint8_t*>(data));
}

void combine(const Qint8Form& f, const void* a, std::int64_t a_step, const void* b,
             std::int64_t b_step, void* y, std::int64_t count) noexcept {
  if (count <= 0) return;
  with_sign(f.a_is_signed, a, [&](auto* pa) {
    with_sign(f.b_is_signed, b, [&](auto* pb) {
      if (f.y_is_signed)
        combine_rows(f, pa, a_step, pb, b_step, static_cast<std::int8_t*>(y), count);
      else
        combine_rows(f, pa, a_step, pb, b_step, static_cast<std::uint8_t*>(y), count);
    });
  });
}

}  // namespace

extern const Qint8Rows kQint8Rows;
const Qint8Rows kQint8Rows = {dequantize, quantize, map, combine};

}  // namespace softneuro::SN_ISA_NAMESPACE
