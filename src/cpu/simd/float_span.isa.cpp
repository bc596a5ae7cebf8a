#include "cpu/simd/float_span.h"

#include <bit>
#include <cstring>

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

void load_half(const std::uint16_t* from, float* to, std::int64_t count) noexcept {
  std::int64_t i = 0;
#ifdef __AVX512F__
  for (; i + 16 <= count; i += 16)
    _mm512_storeu_ps(
        to + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))));
#endif
#ifdef __F16C__
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
#ifdef __F16C__
  for (; i < count; ++i) to[i] = _cvtsh_ss(from[i]);
#endif
  for (; i < count; ++i) to[i] = to_float(Half{from[i]});
}

void store_half(const float* from, std::uint16_t* to, std::int64_t count) noexcept {
  std::int64_t i = 0;
#ifdef __AVX512F__
  for (; i + 16 <= count; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
#ifdef __F16C__
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
#ifdef __F16C__
  for (; i < count; ++i) to[i] = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
#endif
  for (; i < count; ++i) to[i] = to_half(from[i]).bits;
}

void load_bfloat16(const std::uint16_t* from, float* to, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
}

void store_bfloat16(const float* from, std::uint16_t* to, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const auto rounded = static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    const auto nan = static_cast<std::uint16_t>((bits >> 16) | 0x40);
    to[i] = (bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded;
  }
}

void load(DataType type, const void* from, float* to, std::int64_t count) noexcept {
  if (type == DataType::float16)
    load_half(static_cast<const std::uint16_t*>(from), to, count);
  else if (type == DataType::bfloat16)
    load_bfloat16(static_cast<const std::uint16_t*>(from), to, count);
  else if (count > 0)
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

void store(DataType type, const float* from, void* to, std::int64_t count) noexcept {
  if (type == DataType::float16)
    store_half(from, static_cast<std::uint16_t*>(to), count);
  else if (type == DataType::bfloat16)
    store_bfloat16(from, static_cast<std::uint16_t*>(to), count);
  else if (count > 0)
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

}  // namespace

extern const FloatSpans kFloatSpans;
const FloatSpans kFloatSpans = {load, store};

}  // namespace softneuro::SN_ISA_NAMESPACE
