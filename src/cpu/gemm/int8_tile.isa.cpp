// The tile without VNNI. vpmaddubsw would saturate: bytes are widened to 16 bits, whose products
// and sums of pairs are exact.
#include "cpu/gemm/int8_tile.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cmath>
#include <cstring>

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

#if defined(__AVX2__)

// Four lanes per register: a pair of neighbouring numbers belongs to one output.
struct Sums {
  __m256i pairs[4];
};

inline __m256i products_of_four(const std::uint8_t* x, int flip) noexcept {
  std::int32_t four;
  std::memcpy(&four, x, sizeof four);
  return _mm256_broadcastq_epi64(_mm_cvtepu8_epi16(_mm_cvtsi32_si128(four ^ flip)));
}

// One vector of outputs of `Rows` rows.
template <int Rows>
void multiply(const Int8Tile& t, std::int64_t row, std::int64_t column,
              std::int32_t (*sums)[kInt8Lanes]) noexcept {
  const std::int64_t width = round_up(t.columns, kInt8Lanes);
  const int flip = t.flip ? static_cast<int>(0x80808080u) : 0;
  Sums acc[Rows] = {};
  const std::int8_t* w = t.weights + 4 * column;
  for (std::int64_t tap = 0; tap < t.taps; ++tap) {
    const std::uint8_t* const* rows = t.rows + tap * t.row_count + row;
    for (std::int64_t q = 0; q < t.quads; ++q, w += 4 * width) {
      __m256i x[Rows];
      for (int r = 0; r < Rows; ++r) x[r] = products_of_four(rows[r] + 4 * q, flip);
      for (int i = 0; i < 4; ++i) {
        const __m256i weights =
            _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w + 16 * i)));
        for (int r = 0; r < Rows; ++r)
          acc[r].pairs[i] = _mm256_add_epi32(acc[r].pairs[i], _mm256_madd_epi16(x[r], weights));
      }
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int half = 0; half < 2; ++half) {
      const __m256i mixed = _mm256_hadd_epi32(acc[r].pairs[2 * half], acc[r].pairs[2 * half + 1]);
      const __m256i eight = _mm256_permute4x64_epi64(mixed, 0xd8);
      auto* const to = reinterpret_cast<__m256i*>(sums[r] + 8 * half);
      _mm256_storeu_si256(
          to, _mm256_add_epi32(eight, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(
                                          t.start + column + 8 * half))));
    }
}

constexpr int kRows = 2;

#else

template <int Rows>
void multiply(const Int8Tile& t, std::int64_t row, std::int64_t column,
              std::int32_t (*sums)[kInt8Lanes]) noexcept {
  const std::int64_t width = round_up(t.columns, kInt8Lanes);
  const std::uint8_t flip = t.flip ? 0x80 : 0;
  for (int r = 0; r < Rows; ++r) {
    std::int32_t acc[kInt8Lanes];
    std::memcpy(acc, t.start + column, sizeof acc);
    const std::int8_t* w = t.weights + 4 * column;
    for (std::int64_t tap = 0; tap < t.taps; ++tap) {
      const std::uint8_t* x = t.rows[tap * t.row_count + row + r];
      for (std::int64_t q = 0; q < t.quads; ++q, w += 4 * width)
        for (int k = 0; k < 4; ++k) {
          const std::int32_t value = x[4 * q + k] ^ flip;
          for (std::int64_t i = 0; i < kInt8Lanes; ++i) acc[i] += value * w[4 * i + k];
        }
    }
    std::memcpy(sums[r], acc, sizeof acc);
  }
}

constexpr int kRows = 1;

#endif

void finish(const Int8Tile& t, std::int64_t row, std::int64_t column,
            const std::int32_t* sums) noexcept {
  const std::int64_t count = t.columns - column < kInt8Lanes ? t.columns - column : kInt8Lanes;
  float y[kInt8Lanes];
  for (std::int64_t i = 0; i < kInt8Lanes; ++i)
    y[i] = static_cast<float>(sums[i]) * t.scale[column + i] + t.bias[column + i];
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
    float limited = y[i] * t.inverse;
    limited = limited > t.low ? limited : t.low;  // NaN becomes low
    limited = limited < t.high ? limited : t.high;
    t.bytes[at + i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(std::nearbyint(limited)) +
                                                t.zero_point);
  }
}

template <int Rows>
void some_rows(const Int8Tile& t, std::int64_t row) noexcept {
  for (std::int64_t column = 0; column < t.columns; column += kInt8Lanes) {
    std::int32_t sums[Rows][kInt8Lanes];
    multiply<Rows>(t, row, column, sums);
    for (int r = 0; r < Rows; ++r) finish(t, row + r, column, sums[r]);
  }
}

void tile(const Int8Tile& t) noexcept {
  std::int64_t row = 0;
  for (; row + kRows <= t.row_count; row += kRows) some_rows<kRows>(t, row);
  for (; row < t.row_count; ++row) some_rows<1>(t, row);
}

}  // namespace

extern const Int8TileOps kInt8TileOps;
const Int8TileOps kInt8TileOps = {tile};

}  // namespace softneuro::SN_ISA_NAMESPACE
