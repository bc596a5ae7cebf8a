// The tile without VNNI. vpmaddubsw saturates where two weights are large: there bytes are widened
// to 16 bits, whose products and sums of pairs are exact.
#include "cpu/gemm/int8_tile.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/base/level.h"

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

#if defined(__AVX2__)

// Rows that are summed together: more would not leave registers enough.
template <class X>
constexpr int kMostRows = sizeof(X) == 1 ? 3 : 4;
constexpr std::int64_t kQuads = 64;  // that are copied at a time: a panel's weights of them fit L1
constexpr std::int64_t kStride = 4 * kQuads + 16;  // of copied rows, which begin in unlike sets

// A row's bytes are copied as the products want them: in 16 bits, or as they are.
void put(std::int16_t* to, __m128i bytes) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_cvtepu8_epi16(bytes));
}
void put_quad(std::int16_t* to, __m128i bytes) noexcept {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_cvtepu8_epi16(bytes));
}
void put(std::uint8_t* to, __m128i bytes) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
}
void put_quad(std::uint8_t* to, __m128i bytes) noexcept {
  _mm_storeu_si32(to, bytes);
}

// Quads [first, last) of a row, over all taps.
template <class X>
void copy_row(const Int8Tile& t, std::int64_t row, std::int64_t first, std::int64_t last,
              X* to) noexcept {
  const __m128i flip = _mm_set1_epi8(static_cast<char>(t.flip ? 0x80 : 0));
  while (first < last) {
    const std::int64_t tap = first / t.quads, quad = first % t.quads;
    const std::int64_t count = std::min(t.quads - quad, last - first);
    const std::uint8_t* const x = t.rows[tap * t.row_count + row] + 4 * quad;
    std::int64_t q = 0;
    for (; q + 4 <= count; q += 4, to += 16)
      put(to, _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + 4 * q)), flip));
    for (; q < count; ++q, to += 4) put_quad(to, _mm_xor_si128(_mm_loadu_si32(x + 4 * q), flip));
    first += count;
  }
}

// Sums of a tile, kInt8Panel to a row, and what is added to them: themselves, or the start of all
// rows.
struct Sums {
  std::int32_t* sums;
  const std::int32_t* base;
  std::int64_t base_stride;

  Sums at(std::int64_t row, std::int64_t column) const noexcept {
    return {sums + row * kInt8Panel + column, base + row * base_stride + column, base_stride};
  }
  void store(__m256i more) const noexcept {
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(sums),
        _mm256_add_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(base)), more));
  }
};

// Adds the products of `quads` quads: sixteen outputs of Rows rows. x: copied rows; w: weights of
// the first quad, `width` outputs in a quad.

// Weights are widened as they are loaded. A register holds two sums of each of four outputs, which
// are added up in the end.
template <int Rows>
void multiply(const std::int16_t* x, const std::int8_t* w, std::int64_t width, std::int64_t quads,
              const Sums& sums) noexcept {
  for (int half = 0; half < 2; ++half, w += 32) {
    __m256i low[Rows], high[Rows];
    for (int r = 0; r < Rows; ++r) low[r] = high[r] = _mm256_setzero_si256();
#pragma GCC unroll 2
    for (std::int64_t q = 0; q < quads; ++q) {
      const auto* const from = reinterpret_cast<const __m128i*>(w + q * 4 * width);
      const __m256i first = _mm256_cvtepi8_epi16(_mm_loadu_si128(from));
      const __m256i second = _mm256_cvtepi8_epi16(_mm_loadu_si128(from + 1));
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        std::int64_t four;
        std::memcpy(&four, x + r * kStride + 4 * q, sizeof four);
        const __m256i row = _mm256_set1_epi64x(four);
        low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(row, first));
        high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(row, second));
      }
    }
    for (int r = 0; r < Rows; ++r)
      sums.at(r, 8 * half)
          .store(_mm256_permute4x64_epi64(_mm256_hadd_epi32(low[r], high[r]), 0xd8));
  }
}

// Int8Tile::pairs_fit: vpmaddubsw adds two products in 16 bits, and never saturates.
template <int Rows>
void multiply(const std::uint8_t* x, const std::int8_t* w, std::int64_t width, std::int64_t quads,
              const Sums& sums) noexcept {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i low[Rows], high[Rows];
  for (int r = 0; r < Rows; ++r) low[r] = high[r] = _mm256_setzero_si256();
  for (std::int64_t q = 0; q < quads; ++q, x += 4, w += 4 * width) {
    const auto* const from = reinterpret_cast<const __m256i*>(w);
    const __m256i first = _mm256_loadu_si256(from), second = _mm256_loadu_si256(from + 1);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      std::int32_t four;
      std::memcpy(&four, x + r * kStride, sizeof four);
      const __m256i row = _mm256_set1_epi32(four);
      low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(_mm256_maddubs_epi16(row, first), ones));
      high[r] =
          _mm256_add_epi32(high[r], _mm256_madd_epi16(_mm256_maddubs_epi16(row, second), ones));
    }
  }
  for (int r = 0; r < Rows; ++r) {
    sums.at(r, 0).store(low[r]);
    sums.at(r, 8).store(high[r]);
  }
}

// Adds the products of quads [first, last) of Rows rows from `row` on.
template <class X, int Rows>
void add_rows(const Int8Tile& t, std::int64_t row, std::int64_t first, std::int64_t last,
              const Sums& sums) noexcept {
  const std::int64_t width = round_up(t.columns, kInt8Lanes);
  X x[Rows * kStride];
  for (int r = 0; r < Rows; ++r) copy_row(t, row + r, first, last, x + r * kStride);
  for (std::int64_t column = 0; column < width; column += kInt8Lanes)
    multiply<Rows>(x, t.weights + 4 * (first * width + column), width, last - first,
                   sums.at(0, column));
}

using RowsFunction = void (*)(const Int8Tile&, std::int64_t, std::int64_t, std::int64_t,
                              const Sums&) noexcept;

template <class X, int... I>
constexpr auto make_table(std::integer_sequence<int, I...>) {
  return std::array<RowsFunction, sizeof...(I)>{&add_rows<X, I + 1>...};
}

// Sums of `rows` rows from `row` on, kInt8Panel to a row. X: what the inputs are copied as.
template <class X>
void sum_rows(const Int8Tile& t, std::int64_t row, std::int64_t rows, std::int32_t* sums) noexcept {
  static constexpr auto kTable = make_table<X>(std::make_integer_sequence<int, kMostRows<X>>());
  // In nearly equal parts: five rows are better done as three and two than as four and one.
  const std::int64_t parts = (rows + kMostRows<X> - 1) / kMostRows<X>, quads = t.taps * t.quads;
  Sums all = {sums, t.start, 0};
  for (std::int64_t first = 0; first == 0 || first < quads; first += kQuads) {
    for (std::int64_t p = 0; p < parts; ++p) {
      const std::int64_t begin = rows * p / parts, end = rows * (p + 1) / parts;
      kTable[static_cast<std::size_t>(end - begin - 1)](
          t, row + begin, first, std::min(first + kQuads, quads), all.at(begin, 0));
    }
    all.base = sums;
    all.base_stride = kInt8Panel;
  }
}

void sum_rows(const Int8Tile& t, std::int64_t row, std::int64_t rows, std::int32_t* sums) noexcept {
  return t.pairs_fit ? sum_rows<std::uint8_t>(t, row, rows, sums)
                     : sum_rows<std::int16_t>(t, row, rows, sums);
}

// Where sixteen outputs of a row go, and what is added to them; null: not there.
struct Place {
  const std::uint8_t* addend = nullptr;
  std::uint8_t* bytes = nullptr;
  float* floats = nullptr;
};

// Brings sums to float32 or 8 bits, sixteen outputs at a time. What all of them share is read once:
// stores of bytes may alias whatever is in memory.
template <bool kRounds, bool kAdds>
class Finish {
 public:
  explicit Finish(const Int8Tile& t) noexcept
      : inverse_(_mm256_set1_ps(t.inverse)),
        low_(_mm256_set1_ps(t.low)),
        high_(_mm256_set1_ps(t.high)),
        zero_point_(
            _mm256_set1_epi16(static_cast<short>(t.zero_point + (has_negative(t) ? 128 : 0)))),
        levels_inverse_(_mm256_set1_ps(t.levels.inverse)),
        levels_low_(_mm256_set1_ps(t.levels.low)),
        levels_high_(_mm256_set1_ps(t.levels.low + 255.0f)),
        levels_scale_(_mm256_set1_ps(t.levels.scale)),
        addend_zero_point_(_mm256_set1_epi32(t.addend.zero_point)),
        addend_scale_(_mm256_set1_ps(t.addend.scale)),
        flip_(_mm_set1_epi8(static_cast<char>(has_negative(t) ? 0x80 : 0))),
        addend_flip_(_mm_set1_epi8(static_cast<char>(t.addend.flip))) {}

  void store(const std::int32_t* sums, const float* scale, const float* bias,
             const Place& place) const noexcept {
    __m128i addend = _mm_setzero_si128();
    if (kAdds)
      addend = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(place.addend)),
                             addend_flip_);
    const __m256 first = value(sums, scale, bias, addend);
    const __m256 second = value(sums + 8, scale + 8, bias + 8, _mm_unpackhi_epi64(addend, addend));
    if (place.floats != nullptr) {
      _mm256_storeu_ps(place.floats, first);
      _mm256_storeu_ps(place.floats + 8, second);
      return;
    }
    const __m256i words =
        _mm256_add_epi16(_mm256_packs_epi32(level(first), level(second)), zero_point_);
    const __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    // Both packings left four outputs each in the order 0, 2, 1, 3.
    _mm_storeu_si128(reinterpret_cast<__m128i*>(place.bytes),
                     _mm_xor_si128(_mm_shuffle_epi32(bytes, 0xd8), flip_));
  }

 private:
  __m256 value(const std::int32_t* sums, const float* scale, const float* bias,
               __m128i addend) const noexcept {
    const __m256i sum = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums));
    __m256 y =
        _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(scale), _mm256_loadu_ps(bias));
    if (kRounds) {
      constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
      y = _mm256_round_ps(_mm256_mul_ps(y, levels_inverse_), kToNearest);
      y = _mm256_mul_ps(_mm256_min_ps(_mm256_max_ps(y, levels_low_), levels_high_), levels_scale_);
    }
    if (!kAdds) return y;
    const __m256i q = _mm256_sub_epi32(_mm256_cvtepu8_epi32(addend), addend_zero_point_);
    return _mm256_add_ps(y, _mm256_mul_ps(_mm256_cvtepi32_ps(q), addend_scale_));
  }
  static bool has_negative(const Int8Tile& t) noexcept {
    return t.low + static_cast<float>(t.zero_point) < 0;
  }
  // NaN becomes low: the second operand.
  __m256i level(__m256 y) const noexcept {
    y = _mm256_min_ps(_mm256_max_ps(_mm256_mul_ps(y, inverse_), low_), high_);
    return _mm256_cvtps_epi32(y);
  }

  __m256 inverse_, low_, high_;
  __m256i zero_point_;  // of the bytes as unsigned numbers
  __m256 levels_inverse_, levels_low_, levels_high_, levels_scale_;
  __m256i addend_zero_point_;
  __m256 addend_scale_;
  __m128i flip_, addend_flip_;
};

template <bool kRounds, bool kAdds>
void finish_rows(const Int8Tile& tile, std::int64_t row, std::int64_t rows,
                 const std::int32_t* sums) noexcept {
  const Finish<kRounds, kAdds> finish(tile);
  const Int8Tile t = tile;
  for (std::int64_t r = row; r < row + rows; ++r, sums += kInt8Panel)
    for (std::int64_t column = 0; column < t.columns; column += kInt8Lanes) {
      const std::int64_t at = r * t.row_stride + column;
      Place place;
      if (kAdds) place.addend = t.addend.data + r * t.addend.row_stride + column;
      if (t.floats != nullptr)
        place.floats = t.floats + at;
      else
        place.bytes = t.bytes + at;
      const auto count = static_cast<std::size_t>(std::min(kInt8Lanes, t.columns - column));
      if (count == kInt8Lanes) {
        finish.store(sums + column, t.scale + column, t.bias + column, place);
        continue;
      }
      std::uint8_t addend[kInt8Lanes] = {}, bytes[kInt8Lanes];
      float floats[kInt8Lanes];
      if (kAdds) std::memcpy(addend, place.addend, count);
      finish.store(sums + column, t.scale + column, t.bias + column,
                   {addend, bytes, t.floats != nullptr ? floats : nullptr});
      if (t.floats != nullptr)
        std::memcpy(place.floats, floats, count * sizeof(float));
      else
        std::memcpy(place.bytes, bytes, count);
    }
}

void finish_rows(const Int8Tile& t, std::int64_t row, std::int64_t rows,
                 const std::int32_t* sums) noexcept {
  const bool rounds = t.levels.scale != 0, adds = t.addend.data != nullptr;
  const auto finish = rounds ? (adds ? finish_rows<true, true> : finish_rows<true, false>)
                             : (adds ? finish_rows<false, true> : finish_rows<false, false>);
  finish(t, row, rows, sums);
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
  for (std::int64_t i = 0; i < count; ++i)
    t.bytes[at + i] =
        static_cast<std::uint8_t>(level_of(y[i] * t.inverse, t.low, t.high, t.zero_point));
}

void finish_rows(const Int8Tile& t, std::int64_t row, std::int64_t rows,
                 const std::int32_t* sums) noexcept {
  for (std::int64_t r = row; r < row + rows; ++r, sums += kInt8Panel)
    for (std::int64_t column = 0; column < t.columns; column += kInt8Lanes)
      finish(t, r, column, std::min(kInt8Lanes, t.columns - column), sums + column);
}

#endif

void tile(const Int8Tile& t) noexcept {
  constexpr std::int64_t kRows = 48;  // whose sums are kept together, in 12 KiB
  std::int32_t sums[kRows * kInt8Panel];
  for (std::int64_t row = 0; row < t.row_count; row += kRows) {
    const std::int64_t rows = std::min(kRows, t.row_count - row);
    sum_rows(t, row, rows, sums);
    finish_rows(t, row, rows, sums);
  }
}

}  // namespace

extern const Int8TileOps kInt8TileOps;
#if defined(__AVX2__)
const Int8TileOps kInt8TileOps = {tile, true};
#else
const Int8TileOps kInt8TileOps = {tile, false};
#endif

}  // namespace softneuro::SN_ISA_NAMESPACE
