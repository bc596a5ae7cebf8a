// The tile on VNNI: vpdpbusd sums four products of unsigned by signed bytes per lane, without
// saturation on the way.
#include <immintrin.h>

#include <array>
#include <cstring>
#include <utility>

#include "cpu/gemm/int8_tile.h"

namespace softneuro::avx512vnni {
namespace {

#define SN_INLINE [[gnu::always_inline]] inline

// Rows that are summed together: enough independent sums to hide the latency, as many as fit.
constexpr int rows_of(int vectors) {
  return vectors == 4 ? 6 : 8;
}

template <int Rows, int Vectors>
struct Sums {
  __m512i lane[Rows][Vectors];
};

SN_INLINE __m512i four_bytes(const std::uint8_t* p) {
  std::int32_t four;
  std::memcpy(&four, p, sizeof four);
  return _mm512_set1_epi32(four);
}

template <bool Flip, int Rows, int Vectors>
SN_INLINE void multiply(const Int8Tile& t, std::int64_t row, Sums<Rows, Vectors>& sums) {
  for (int v = 0; v < Vectors; ++v) {
    const __m512i start = _mm512_loadu_si512(t.start + v * kInt8Lanes);
    for (int r = 0; r < Rows; ++r) sums.lane[r][v] = start;
  }
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
  const std::int8_t* w = t.weights;
  for (std::int64_t tap = 0; tap < t.taps; ++tap) {
    const std::uint8_t* x[Rows];
    for (int r = 0; r < Rows; ++r) x[r] = t.rows[tap * t.row_count + row + r];
    for (std::int64_t q = 0; q < t.quads; ++q) {
      __m512i weights[Vectors];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) weights[v] = _mm512_loadu_si512(w + 64 * v);
      w += 64 * Vectors;
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        __m512i four = four_bytes(x[r] + 4 * q);
        if constexpr (Flip) four = _mm512_xor_si512(four, flip);
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v)
          sums.lane[r][v] = _mm512_dpbusd_epi32(sums.lane[r][v], four, weights[v]);
      }
    }
  }
}

SN_INLINE __m512 addend_of(const Int8Addend& a, std::int64_t row, std::int64_t column,
                           __mmask16 mask) {
  const __m128i bytes =
      _mm_xor_si128(_mm_maskz_loadu_epi8(mask, a.data + row * a.row_stride + column),
                    _mm_set1_epi8(static_cast<char>(a.flip)));
  const __m512i q = _mm512_sub_epi32(_mm512_cvtepu8_epi32(bytes), _mm512_set1_epi32(a.zero_point));
  return _mm512_mul_ps(_mm512_cvtepi32_ps(q), _mm512_set1_ps(a.scale));
}

SN_INLINE __m512 to_levels(const Int8Levels& levels, __m512 y) {
  const __m512 low = _mm512_set1_ps(levels.low), high = _mm512_set1_ps(levels.low + 255.0f);
  constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  const __m512 level =
      _mm512_roundscale_ps(_mm512_mul_ps(y, _mm512_set1_ps(levels.inverse)), kToNearest);
  return _mm512_mul_ps(_mm512_min_ps(_mm512_max_ps(level, low), high),
                       _mm512_set1_ps(levels.scale));
}

template <int Rows, int Vectors>
SN_INLINE void finish(const Int8Tile& t, std::int64_t row, const Sums<Rows, Vectors>& sums) {
  const __m512 inverse = _mm512_set1_ps(t.inverse);
  const __m512 low = _mm512_set1_ps(t.low), high = _mm512_set1_ps(t.high);
  const __m512i zero_point = _mm512_set1_epi32(t.zero_point);
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) {
    const std::int64_t column = v * kInt8Lanes;
    const std::int64_t left = t.columns - column;
    const auto mask = static_cast<__mmask16>(left >= 16 ? 0xffffu : (1u << left) - 1u);
    const __m512 scale = _mm512_loadu_ps(t.scale + column);
    const __m512 bias = _mm512_loadu_ps(t.bias + column);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      __m512 y = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums.lane[r][v]), scale, bias);
      if (t.levels.scale != 0) y = to_levels(t.levels, y);
      if (t.addend.data != nullptr)
        y = _mm512_add_ps(y, addend_of(t.addend, row + r, column, mask));
      const std::int64_t at = (row + r) * t.row_stride + column;
      if (t.floats != nullptr) {
        _mm512_mask_storeu_ps(t.floats + at, mask, y);
        continue;
      }
      // NaN becomes low: the second operand.
      y = _mm512_min_ps(_mm512_max_ps(_mm512_mul_ps(y, inverse), low), high);
      const __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(y), zero_point);
      _mm512_mask_cvtepi32_storeu_epi8(t.bytes + at, mask, q);
    }
  }
}

template <bool Flip, int Rows, int Vectors>
void some_rows(const Int8Tile& t, std::int64_t row) noexcept {
  Sums<Rows, Vectors> sums;  // NOLINT(cppcoreguidelines-pro-type-member-init): multiply() fills it
  multiply<Flip>(t, row, sums);
  finish(t, row, sums);
}

using RowsFunction = void (*)(const Int8Tile&, std::int64_t) noexcept;

template <bool Flip, int Vectors, int... I>
constexpr auto make_table(std::integer_sequence<int, I...>) {
  return std::array<RowsFunction, sizeof...(I)>{&some_rows<Flip, I + 1, Vectors>...};
}

template <bool Flip, int Vectors>
void all_rows(const Int8Tile& t) noexcept {
  constexpr int kRows = rows_of(Vectors);
  static constexpr auto kTable =
      make_table<Flip, Vectors>(std::make_integer_sequence<int, kRows>());
  // In nearly equal parts: seven rows are better done as four and three than as six and one.
  const std::int64_t parts = (t.row_count + kRows - 1) / kRows;
  for (std::int64_t p = 0; p < parts; ++p) {
    const std::int64_t first = t.row_count * p / parts, last = t.row_count * (p + 1) / parts;
    kTable[static_cast<std::size_t>(last - first - 1)](t, first);
  }
}

template <bool Flip>
void any_width(const Int8Tile& t) noexcept {
  switch ((t.columns + kInt8Lanes - 1) / kInt8Lanes) {
    case 1:
      return all_rows<Flip, 1>(t);
    case 2:
      return all_rows<Flip, 2>(t);
    case 3:
      return all_rows<Flip, 3>(t);
    default:
      return all_rows<Flip, 4>(t);
  }
}

}  // namespace

void int8_tile(const Int8Tile& tile) noexcept {
  tile.flip ? any_width<true>(tile) : any_width<false>(tile);
}

}  // namespace softneuro::avx512vnni
