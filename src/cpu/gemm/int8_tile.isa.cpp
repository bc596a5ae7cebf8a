// The tile without VNNI. vpmaddubsw would saturate: bytes are widened to 16 bits, whose products
// and sums of pairs are exact.
#include "cpu/gemm/int8_tile.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

#if defined(__AVX2__)

constexpr int kMostRows = 4;  // that are summed together: more would not leave registers enough
constexpr std::int64_t kGroup = 8;   // outputs that are
constexpr std::int64_t kQuads = 64;  // that are widened at a time: a panel's weights of them fit L1
constexpr std::int64_t kStride = 4 * kQuads + 16;  // of widened rows, which begin in unlike sets

// Quads [first, last) of a row, over all taps, in 16 bits.
void widen(const Int8Tile& t, std::int64_t row, std::int64_t first, std::int64_t last,
           std::int16_t* to) noexcept {
  const __m128i flip = _mm_set1_epi8(static_cast<char>(t.flip ? 0x80 : 0));
  while (first < last) {
    const std::int64_t tap = first / t.quads, quad = first % t.quads;
    const std::int64_t count = std::min(t.quads - quad, last - first);
    const std::uint8_t* const x = t.rows[tap * t.row_count + row] + 4 * quad;
    std::int64_t q = 0;
    for (; q + 4 <= count; q += 4, to += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + 4 * q));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                          _mm256_cvtepu8_epi16(_mm_xor_si128(bytes, flip)));
    }
    for (; q < count; ++q, to += 4) {
      std::int32_t four;
      std::memcpy(&four, x + 4 * q, sizeof four);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to),
                       _mm_cvtepu8_epi16(_mm_xor_si128(_mm_cvtsi32_si128(four), flip)));
    }
    first += count;
  }
}

// Adds the products of `quads` quads: kGroup outputs of Rows rows. A register holds two sums of
// each of four outputs, which are added up in the end. x: widened rows; w: weights of the first
// quad, `width` outputs in a quad; sums: kInt8Panel to a row.
template <int Rows>
void multiply(const std::int16_t* x, const std::int8_t* w, std::int64_t width, std::int64_t quads,
              std::int32_t* sums) noexcept {
  __m256i low[Rows], high[Rows];
  for (int r = 0; r < Rows; ++r) low[r] = high[r] = _mm256_setzero_si256();
#pragma GCC unroll 2
  for (std::int64_t q = 0; q < quads; ++q, x += 4, w += 4 * width) {
    const auto* const from = reinterpret_cast<const __m128i*>(w);
    const __m256i first = _mm256_cvtepi8_epi16(_mm_loadu_si128(from));
    const __m256i second = _mm256_cvtepi8_epi16(_mm_loadu_si128(from + 1));
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      std::int64_t four;
      std::memcpy(&four, x + r * kStride, sizeof four);
      const __m256i row = _mm256_set1_epi64x(four);
      low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(row, first));
      high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(row, second));
    }
  }
  for (int r = 0; r < Rows; ++r, sums += kInt8Panel) {
    const __m256i mixed = _mm256_hadd_epi32(low[r], high[r]);
    auto* const to = reinterpret_cast<__m256i*>(sums);
    _mm256_storeu_si256(
        to, _mm256_add_epi32(_mm256_loadu_si256(to), _mm256_permute4x64_epi64(mixed, 0xd8)));
  }
}

// Adds the products of quads [first, last) of Rows rows from `row` on.
template <int Rows>
void add_rows(const Int8Tile& t, std::int64_t row, std::int64_t first, std::int64_t last,
              std::int32_t* sums) noexcept {
  const std::int64_t width = round_up(t.columns, kInt8Lanes);
  std::int16_t x[Rows * kStride];
  for (int r = 0; r < Rows; ++r) widen(t, row + r, first, last, x + r * kStride);
  for (std::int64_t column = 0; column < width; column += kGroup)
    multiply<Rows>(x, t.weights + 4 * (first * width + column), width, last - first, sums + column);
}

using RowsFunction = void (*)(const Int8Tile&, std::int64_t, std::int64_t, std::int64_t,
                              std::int32_t*) noexcept;

template <int... I>
constexpr auto make_table(std::integer_sequence<int, I...>) {
  return std::array<RowsFunction, sizeof...(I)>{&add_rows<I + 1>...};
}

// Sums of `rows` rows from `row` on, kInt8Panel to a row.
void sum_rows(const Int8Tile& t, std::int64_t row, std::int64_t rows, std::int32_t* sums) noexcept {
  static constexpr auto kTable = make_table(std::make_integer_sequence<int, kMostRows>());
  for (std::int64_t r = 0; r < rows; ++r)
    std::copy_n(t.start, round_up(t.columns, kInt8Lanes), sums + r * kInt8Panel);
  // In nearly equal parts: five rows are better done as three and two than as four and one.
  const std::int64_t parts = (rows + kMostRows - 1) / kMostRows, quads = t.taps * t.quads;
  for (std::int64_t first = 0; first < quads; first += kQuads)
    for (std::int64_t p = 0; p < parts; ++p) {
      const std::int64_t begin = rows * p / parts, end = rows * (p + 1) / parts;
      kTable[static_cast<std::size_t>(end - begin - 1)](
          t, row + begin, first, std::min(first + kQuads, quads), sums + begin * kInt8Panel);
    }
}

inline __m256 addend_of(const Int8Addend& a, std::int64_t row, std::int64_t column) noexcept {
  const auto* const from = reinterpret_cast<const __m128i*>(a.data + row * a.row_stride + column);
  const __m128i bytes =
      _mm_xor_si128(_mm_loadl_epi64(from), _mm_set1_epi8(static_cast<char>(a.flip)));
  const __m256i q = _mm256_sub_epi32(_mm256_cvtepu8_epi32(bytes), _mm256_set1_epi32(a.zero_point));
  return _mm256_mul_ps(_mm256_cvtepi32_ps(q), _mm256_set1_ps(a.scale));
}

inline __m256 to_levels(const Int8Levels& levels, __m256 y) noexcept {
  constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  __m256 level = _mm256_round_ps(_mm256_mul_ps(y, _mm256_set1_ps(levels.inverse)), kToNearest);
  level = _mm256_max_ps(level, _mm256_set1_ps(levels.low));
  level = _mm256_min_ps(level, _mm256_set1_ps(levels.low + 255.0f));
  return _mm256_mul_ps(level, _mm256_set1_ps(levels.scale));
}

// As finish(), of eight outputs.
inline void finish_eight(const Int8Tile& t, std::int64_t row, std::int64_t column,
                         const std::int32_t* sums) noexcept {
  const __m256i sum = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums));
  __m256 y = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(t.scale + column),
                             _mm256_loadu_ps(t.bias + column));
  if (t.levels.scale != 0) y = to_levels(t.levels, y);
  if (t.addend.data != nullptr) y = _mm256_add_ps(y, addend_of(t.addend, row, column));
  const std::int64_t at = row * t.row_stride + column;
  if (t.floats != nullptr) return _mm256_storeu_ps(t.floats + at, y);
  // NaN becomes low: the second operand.
  y = _mm256_max_ps(_mm256_mul_ps(y, _mm256_set1_ps(t.inverse)), _mm256_set1_ps(t.low));
  y = _mm256_min_ps(y, _mm256_set1_ps(t.high));
  __m256i q = _mm256_add_epi32(_mm256_cvtps_epi32(y), _mm256_set1_epi32(t.zero_point));
  q = _mm256_and_si256(q, _mm256_set1_epi32(0xff));
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(t.bytes + at), _mm_packus_epi16(words, words));
}

#else

void sum_rows(const Int8Tile& t, std::int64_t row, std::int64_t rows, std::int32_t* sums) noexcept {
  const std::int64_t width = round_up(t.columns, kInt8Lanes);
  const std::uint8_t flip = t.flip ? 0x80 : 0;
  for (std::int64_t r = 0; r < rows; ++r, ++row, sums += kInt8Panel)
    for (std::int64_t column = 0; column < width; column += kInt8Lanes) {
      std::int32_t acc[kInt8Lanes];
      std::memcpy(acc, t.start + column, sizeof acc);
      const std::int8_t* w = t.weights + 4 * column;
      for (std::int64_t tap = 0; tap < t.taps; ++tap) {
        const std::uint8_t* const x = t.rows[tap * t.row_count + row];
        for (std::int64_t q = 0; q < t.quads; ++q, w += 4 * width)
          for (int k = 0; k < 4; ++k) {
            const std::int32_t value = x[4 * q + k] ^ flip;
            for (std::int64_t i = 0; i < kInt8Lanes; ++i) acc[i] += value * w[4 * i + k];
          }
      }
      std::memcpy(sums + column, acc, sizeof acc);
    }
}

#endif

// y held within [low, high]; NaN becomes low.
float held(float y, float low, float high) noexcept {
  y = y > low ? y : low;
  return y < high ? y : high;
}

// Of `count` outputs, at most kInt8Lanes, from `column` on.
void finish(const Int8Tile& t, std::int64_t row, std::int64_t column, std::int64_t count,
            const std::int32_t* sums) noexcept {
  float y[kInt8Lanes];
  for (std::int64_t i = 0; i < count; ++i)
    y[i] = static_cast<float>(sums[i]) * t.scale[column + i] + t.bias[column + i];
  if (const Int8Levels& levels = t.levels; levels.scale != 0)
    for (std::int64_t i = 0; i < count; ++i)
      y[i] = levels.scale *
             held(std::nearbyint(y[i] * levels.inverse), levels.low, levels.low + 255.0f);
  if (const Int8Addend& a = t.addend; a.data != nullptr) {
    const std::uint8_t* x = a.data + row * a.row_stride + column;
    for (std::int64_t i = 0; i < count; ++i) {
      const float product = static_cast<float>((x[i] ^ a.flip) - a.zero_point) * a.scale;
      y[i] += product;
    }
  }
  const std::int64_t at = row * t.row_stride + column;
  if (t.floats != nullptr) {
    std::memcpy(t.floats + at, y, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const float level = std::nearbyint(held(y[i] * t.inverse, t.low, t.high));
    t.bytes[at + i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(level) + t.zero_point);
  }
}

void finish_row(const Int8Tile& t, std::int64_t row, const std::int32_t* sums) noexcept {
  std::int64_t column = 0;
#if defined(__AVX2__)
  for (; column + 8 <= t.columns; column += 8) finish_eight(t, row, column, sums + column);
#endif
  for (; column < t.columns; column += kInt8Lanes)
    finish(t, row, column, std::min(kInt8Lanes, t.columns - column), sums + column);
}

void tile(const Int8Tile& t) noexcept {
  constexpr std::int64_t kRows = 48;  // whose sums are kept together, in 12 KiB
  std::int32_t sums[kRows * kInt8Panel];
  for (std::int64_t row = 0; row < t.row_count; row += kRows) {
    const std::int64_t rows = std::min(kRows, t.row_count - row);
    sum_rows(t, row, rows, sums);
    for (std::int64_t r = 0; r < rows; ++r) finish_row(t, row + r, sums + r * kInt8Panel);
  }
}

}  // namespace

extern const Int8TileOps kInt8TileOps;
const Int8TileOps kInt8TileOps = {tile};

}  // namespace softneuro::SN_ISA_NAMESPACE
