// Products of float16 numbers on AMX, whose tiles multiply bfloat16. A float16 number is the sum of
// two of those, hi + lo, without error. Of the four products of such sums lo·lo, at most 2^-16 of
// the whole, is left out; the others are summed in float32. That takes three cycles where vectors
// of float32 take sixteen. But an infinite number gives NaN: its lo, or the other's, is zero.
#include <immintrin.h>

#include <algorithm>

#include "core/gemm/half_tile.h"

namespace softneuro::amxbf16 {
namespace {

#define SN_INLINE [[gnu::always_inline]] inline

constexpr std::int64_t kStep = 32;      // numbers of the depth in a tile
constexpr std::int64_t kTileRows = 16;  // of A and C, and columns of C
constexpr std::int64_t kTileBytes = 1024;
constexpr std::int64_t kBlockSteps = 16;  // that A is split for at a time
constexpr std::int64_t kBlock = kBlockSteps * kStep;
// Numbers from row to row: room for a vector behind the last one, and not all rows in the same
// lines of the cache.
constexpr std::int64_t kRow = kBlock + kStep;

// Rows of A, split. (Not initialised: rows that are missing give rows of C that nobody reads.)
struct SplitRows {
  alignas(64) std::uint16_t hi[kHalfMaxRows * kRow];
  alignas(64) std::uint16_t lo[kHalfMaxRows * kRow];
};

struct [[gnu::packed]] TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);
constexpr TileConfig kConfig;

struct Words {
  std::uint16_t index[32];
};
constexpr Words upper_words() {
  Words words = {};
  for (int i = 0; i < 32; ++i) words.index[i] = static_cast<std::uint16_t>(2 * i + 1);
  return words;
}
constexpr Words kUpperWords = upper_words();

// 32 numbers, hi by cutting off what does not fit.
SN_INLINE void split(__m512i x, std::uint16_t* hi, std::uint16_t* lo) {
  const __m512i upper = _mm512_loadu_si512(kUpperWords.index);
  const __m512i mask = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  __m512i bits[2], rest[2];
  const __m256i halves[2] = {_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1)};
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const __m512 value = _mm512_cvtph_ps(halves[i]);
    bits[i] = _mm512_castps_si512(value);
    const __m512 cut = _mm512_castsi512_ps(_mm512_and_si512(bits[i], mask));
    rest[i] = _mm512_castps_si512(_mm512_sub_ps(value, cut));
  }
  _mm512_storeu_si512(hi, _mm512_permutex2var_epi16(bits[0], upper, bits[1]));
  _mm512_storeu_si512(lo, _mm512_permutex2var_epi16(rest[0], upper, rest[1]));
}

SN_INLINE void split_run(const Half* from, std::int64_t count, std::uint16_t* hi,
                         std::uint16_t* lo) {
  std::int64_t k = 0;
  for (; k + kStep <= count; k += kStep) split(_mm512_loadu_si512(from + k), hi + k, lo + k);
  if (k == count) return;
  const auto some = static_cast<__mmask32>((1u << (count - k)) - 1u);
  split(_mm512_maskz_loadu_epi16(some, from + k), hi + k, lo + k);
}

// The numbers [begin, end) of the rows' depth; behind them zeros up to a whole step. Vectors may
// reach behind a segment: the next one comes later.
void split_rows(const HalfTile& t, std::int64_t begin, std::int64_t end, SplitRows& rows) noexcept {
  for (int r = 0; r < t.rows; ++r) {
    std::uint16_t* const hi = rows.hi + r * kRow;
    std::uint16_t* const lo = rows.lo + r * kRow;
    for (std::int64_t s = begin / t.length, k = begin; k < end; ++s) {
      const std::int64_t stop = std::min(end, (s + 1) * t.length);
      split_run(t.a[s * t.rows + r] + (k - s * t.length), stop - k, hi + (k - begin),
                lo + (k - begin));
      k = stop;
    }
    _mm512_storeu_si512(hi + (end - begin), _mm512_setzero_si512());
    _mm512_storeu_si512(lo + (end - begin), _mm512_setzero_si512());
  }
}

// C's tiles are 0…3, A's 4 and 5, B's 6 and 7.
template <bool TwoRows, bool TwoPanels>
SN_INLINE void multiply_tiles() {
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (TwoPanels) _tile_dpbf16ps(1, 4, 7);
  if constexpr (TwoRows) _tile_dpbf16ps(2, 5, 6);
  if constexpr (TwoRows && TwoPanels) _tile_dpbf16ps(3, 5, 7);
}

template <bool TwoRows>
SN_INLINE void load_a(const std::uint16_t* from) {
  _tile_loadd(4, from, 2 * kRow);
  if constexpr (TwoRows) _tile_loadd(5, from + kTileRows * kRow, 2 * kRow);
}

template <bool TwoPanels>
SN_INLINE void load_b(const std::byte* from, std::int64_t panel) {
  _tile_loadd(6, from, 64);
  if constexpr (TwoPanels) _tile_loadd(7, from + panel, 64);
}

template <bool TwoRows, bool TwoPanels>
void multiply(const HalfTile& t, const SplitRows& a, const std::byte* b, std::int64_t steps,
              float* c, bool add) noexcept {
  const std::int64_t c_bytes = t.c_row_stride * 4, panel = t.b_panel_bytes;
  float* const below = c + kTileRows * t.c_row_stride;
  if (add) {
    _tile_loadd(0, c, c_bytes);
    if constexpr (TwoPanels) _tile_loadd(1, c + kTileRows, c_bytes);
    if constexpr (TwoRows) _tile_loadd(2, below, c_bytes);
    if constexpr (TwoRows && TwoPanels) _tile_loadd(3, below + kTileRows, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (std::int64_t i = 0; i < steps; ++i, b += 2 * kTileBytes) {
    load_a<TwoRows>(a.hi + i * kStep);
    load_b<TwoPanels>(b + kTileBytes, panel);  // lo
    multiply_tiles<TwoRows, TwoPanels>();
    load_b<TwoPanels>(b, panel);
    multiply_tiles<TwoRows, TwoPanels>();
    load_a<TwoRows>(a.lo + i * kStep);
    multiply_tiles<TwoRows, TwoPanels>();
  }
  _tile_stored(0, c, c_bytes);
  if constexpr (TwoPanels) _tile_stored(1, c + kTileRows, c_bytes);
  if constexpr (TwoRows) _tile_stored(2, below, c_bytes);
  if constexpr (TwoRows && TwoPanels) _tile_stored(3, below + kTileRows, c_bytes);
}

using Function = void (*)(const HalfTile&, const SplitRows&, const std::byte*, std::int64_t, float*,
                          bool) noexcept;
constexpr Function kFunctions[2][2] = {{multiply<false, false>, multiply<false, true>},
                                       {multiply<true, false>, multiply<true, true>}};

}  // namespace

void half_tile(const HalfTile& tile) noexcept;
void half_tile(const HalfTile& tile) noexcept {
  SplitRows rows;
  const std::int64_t depth = tile.segments * tile.length;
  const auto& functions = kFunctions[tile.rows > kTileRows];
  if (depth == 0 && !tile.add)
    for (int r = 0; r < tile.rows; ++r)
      std::fill_n(tile.c + r * tile.c_row_stride, tile.panels * kHalfPanel, 0.0f);
  _tile_loadconfig(&kConfig);
  for (std::int64_t k = 0; k < depth; k += kBlock) {
    const std::int64_t end = std::min(k + kBlock, depth);
    split_rows(tile, k, end, rows);
    const std::byte* b = tile.b + k / kStep * 2 * kTileBytes;
    for (std::int64_t p = 0; p < tile.panels; p += 2, b += 2 * tile.b_panel_bytes)
      functions[p + 1 < tile.panels](tile, rows, b, (end - k + kStep - 1) / kStep,
                                     tile.c + p * kHalfPanel, tile.add || k > 0);
  }
  _tile_release();
}

}  // namespace softneuro::amxbf16
