// Products on AMX, whose tiles multiply bfloat16 and sum in float32. A float16 number is the sum of
// two of those, a float32 number of three, without error: each takes the next eight bits of what is
// left. Of the products of such sums some count so little that they are left out:
//   bfloat16 is one part
//   float16  lo·lo, at most 2^-16 of the whole where a float16 result is rounded by 2^-11, leaves
//            three: three cycles where vectors of float32 take sixteen
//   float32  1·2, 2·1 and 2·2 (from 0: the part's place), together as much as the rounding of one
//            product in float32, 2^-24, at most, leave six: six cycles where vectors take sixteen
// But an infinite number of two or three parts gives NaN: what is left of it is. Parts below
// float32's smallest normal number count as zero.
#include <immintrin.h>

#include <algorithm>
#include <iterator>

#include "cpu/gemm/split_tile.h"

namespace softneuro::amxbf16 {
namespace {

#define SN_INLINE [[gnu::always_inline]] inline

constexpr std::int64_t kStep = kSplitStep;      // numbers of the depth in a tile
constexpr std::int64_t kTileRows = kSplitRows;  // of A and C, and columns of C
constexpr std::int64_t kTileBytes = 1024;
constexpr std::int64_t kLineBytes = 64;
constexpr int kSumLines = 2;  // that are called at a time

// One product of parts.
struct Pair {
  int a, b;
};

// How numbers of a type are split; pairs in an order where each keeps a part of the one before.
template <class T>
struct Split;
template <>
struct Split<BFloat16> {
  static constexpr int kParts = 1;
  static constexpr Pair kPairs[] = {{0, 0}};
};
template <>
struct Split<Half> {
  static constexpr int kParts = 2;
  static constexpr Pair kPairs[] = {{0, 1}, {0, 0}, {1, 0}};
};
template <>
struct Split<float> {
  static constexpr int kParts = 3;
  static constexpr Pair kPairs[] = {{0, 2}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {0, 0}};
};

struct [[gnu::packed]] TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

constexpr TileConfig kConfig;

// --- splitting -----------------------------------------------------------------------------------

SN_INLINE __m512 widened(__m256i bfloat16s) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bfloat16s), 16));
}

// Beyond bfloat16's largest number, which is a little less than float32's, none is rounded.
SN_INLINE __m512 within_range(__m512 x) {
  const __m512 most = _mm512_castsi512_ps(_mm512_set1_epi32(0x7f7f0000));
  const __m512 least = _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(0xff7f0000)));
  return _mm512_max_ps(least, _mm512_min_ps(most, x));  // the second operand where either is NaN
}

// The next part of 32 numbers, which is taken off them.
SN_INLINE __m512i take_part(__m512& first, __m512& second, bool is_first_of_float) {
  const __m512i part = is_first_of_float
                           ? (__m512i)_mm512_cvtne2ps_pbh(within_range(second), within_range(first))
                           : (__m512i)_mm512_cvtne2ps_pbh(second, first);
  first = _mm512_sub_ps(first, widened(_mm512_castsi512_si256(part)));
  second = _mm512_sub_ps(second, widened(_mm512_extracti64x4_epi64(part, 1)));
  return part;
}

SN_INLINE void load_numbers(const Half* from, std::int64_t count, __m512& first, __m512& second) {
  const auto some = static_cast<__mmask32>(count >= kStep ? ~0u : (1u << count) - 1u);
  const __m512i x = _mm512_maskz_loadu_epi16(some, from);
  first = _mm512_cvtph_ps(_mm512_castsi512_si256(x));
  second = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(x, 1));
}
SN_INLINE void load_numbers(const BFloat16* from, std::int64_t count, __m512& first,
                            __m512& second) {
  const auto some = static_cast<__mmask32>(count >= kStep ? ~0u : (1u << count) - 1u);
  const __m512i x = _mm512_maskz_loadu_epi16(some, from);
  first = widened(_mm512_castsi512_si256(x));
  second = widened(_mm512_extracti64x4_epi64(x, 1));
}
SN_INLINE void load_numbers(const float* from, std::int64_t count, __m512& first, __m512& second) {
  const auto some = static_cast<__mmask32>(count >= kStep ? ~0u : (1u << count) - 1u);
  first = _mm512_maskz_loadu_ps(static_cast<__mmask16>(some), from);
  second = _mm512_maskz_loadu_ps(static_cast<__mmask16>(some >> 16), from + 16);
}

template <class T>
constexpr std::int64_t step_bytes() {
  return Split<T>::kParts * kTileBytes;
}

// The same numbers of the next slice, which most likely follow these.
template <class T>
SN_INLINE void call_ahead(const T* from) {
  const char* const next = reinterpret_cast<const char*>(from + kSplitSlice<T> * kStep);
  constexpr std::int64_t kBytes = kStep * sizeof(T);
  for (std::int64_t i = 0; i < kBytes; i += kLineBytes) __builtin_prefetch(next + i, 0, 2);
}

// One row's numbers [k, k + count) of the slice; k is a multiple of kStep unless another segment
// began behind one. Vectors may reach behind a segment: the next one comes later.
template <class T>
SN_INLINE void split_run(const T* from, std::int64_t k, std::int64_t count, std::byte* row) {
  while (count > 0) {
    __m512 first, second;
    load_numbers(from, count, first, second);
    call_ahead(from);
    std::byte* const to = row + k / kStep * step_bytes<T>();
    const std::int64_t at = k % kStep, now = std::min(count, kStep - at);
    if (at == 0)
#pragma GCC unroll 3
      for (int p = 0; p < Split<T>::kParts; ++p)
        _mm512_store_si512(to + p * kTileBytes,
                           take_part(first, second, p == 0 && Split<T>::kParts == 3));
    else
      for (int p = 0; p < Split<T>::kParts; ++p) {
        const auto mask = static_cast<__mmask32>(((std::uint64_t{1} << now) - 1));
        _mm512_mask_storeu_epi16(to + p * kTileBytes + 2 * at, mask,
                                 take_part(first, second, p == 0 && Split<T>::kParts == 3));
      }
    from += now;
    k += now;
    count -= now;
  }
}

// Behind the last number come zeros, up to a whole step.
template <class T>
SN_INLINE void split_rows(const SplitRows<T>& t) {
  const std::int64_t end = t.begin + t.depth;
  const std::int64_t tile = (t.depth + kStep - 1) / kStep * step_bytes<T>();
  for (int r = 0; r < t.rows; ++r) {
    std::byte* const row = t.to + r / kTileRows * tile + r % kTileRows * kLineBytes;
    for (std::int64_t s = t.begin / t.length, k = t.begin; k < end; ++s) {
      const std::int64_t stop = std::min(end, (s + 1) * t.length);
      split_run(t.a[s * t.rows + r] + (k - s * t.length), k - t.begin, stop - k, row);
      k = stop;
    }
    const std::int64_t left = t.depth % kStep;
    if (left == 0) continue;
    for (int p = 0; p < Split<T>::kParts; ++p)
      _mm512_mask_storeu_epi16(row + t.depth / kStep * step_bytes<T>() + p * kTileBytes,
                               ~((__mmask32{1} << left) - 1), _mm512_setzero_si512());
  }
}

// --- products ------------------------------------------------------------------------------------

// C's tiles are 0…3, A's 4 and 5, B's 6 and 7.
template <bool TwoRows, bool TwoPanels>
SN_INLINE void multiply_tiles() {
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (TwoPanels) _tile_dpbf16ps(1, 4, 7);
  if constexpr (TwoRows) _tile_dpbf16ps(2, 5, 6);
  if constexpr (TwoRows && TwoPanels) _tile_dpbf16ps(3, 5, 7);
}

// What is to be called into the cache, some lines after each product of tiles: the processor has
// room for few at a time.
struct Lines {
  const std::byte* next;  // of B, with the same lines of another panel
  std::int64_t panel_bytes, left, at_a_time;
  const std::byte* c;    // sums that come next, in two tiles of rows
  std::int64_t c_bytes;  // from one to the other
};

template <bool TwoPanels>
SN_INLINE void call(Lines& lines) {
  for (std::int64_t i = std::min(lines.left, lines.at_a_time); i > 0; --i) {
    __builtin_prefetch(lines.next, 0, 2);
    if constexpr (TwoPanels) __builtin_prefetch(lines.next + lines.panel_bytes, 0, 2);
    lines.next += kLineBytes;
    --lines.left;
  }
  for (int i = 0; i < kSumLines; ++i, lines.c += kLineBytes) {
    __builtin_prefetch(lines.c, 1, 3);
    __builtin_prefetch(lines.c + lines.c_bytes, 1, 3);
  }
}

// All pairs for one step, from pair I on.
template <class T, bool TwoRows, bool TwoPanels, int I = 0>
SN_INLINE void multiply_step(const std::byte* a, std::int64_t below, const std::byte* b,
                             std::int64_t panel, Lines& lines) {
  constexpr auto& kPairs = Split<T>::kPairs;
  if constexpr (I < static_cast<int>(std::size(kPairs))) {
    constexpr Pair kPair = kPairs[I], kBefore = I == 0 ? Pair{-1, -1} : kPairs[I > 0 ? I - 1 : 0];
    if constexpr (kPair.a != kBefore.a) {
      _tile_loadd(4, a + kPair.a * kTileBytes, kLineBytes);
      if constexpr (TwoRows) _tile_loadd(5, a + kPair.a * kTileBytes + below, kLineBytes);
    }
    if constexpr (kPair.b != kBefore.b) {
      _tile_loadd(6, b + kPair.b * kTileBytes, kLineBytes);
      if constexpr (TwoPanels) _tile_loadd(7, b + kPair.b * kTileBytes + panel, kLineBytes);
    }
    multiply_tiles<TwoRows, TwoPanels>();
    call<TwoPanels>(lines);
    multiply_step<T, TwoRows, TwoPanels, I + 1>(a, below, b, panel, lines);
  }
}

// One or two tiles of rows from tile `row` on.
template <class T, bool TwoRows, bool TwoPanels>
SN_INLINE void multiply_rows(const SplitProduct& t, std::int64_t row, Lines& lines) {
  constexpr std::int64_t kSums = kTileRows * kTileRows;
  float* const c = t.c + row * t.c_panels * kSums;
  float* const below = c + t.c_panels * kSums;
  if (t.add) {
    _tile_loadd(0, c, kLineBytes);
    if constexpr (TwoPanels) _tile_loadd(1, c + kSums, kLineBytes);
    if constexpr (TwoRows) _tile_loadd(2, below, kLineBytes);
    if constexpr (TwoRows && TwoPanels) _tile_loadd(3, below + kSums, kLineBytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  lines.c = reinterpret_cast<const std::byte*>(below + t.c_panels * kSums);
  const std::int64_t tile = t.steps * step_bytes<T>();
  const std::byte* a = t.a + row * tile;
  const std::byte* b = t.b;
  for (std::int64_t i = 0; i < t.steps; ++i, a += step_bytes<T>(), b += step_bytes<T>())
    multiply_step<T, TwoRows, TwoPanels>(a, tile, b, t.b_panel_bytes, lines);
  _tile_stored(0, c, kLineBytes);
  if constexpr (TwoPanels) _tile_stored(1, c + kSums, kLineBytes);
  if constexpr (TwoRows) _tile_stored(2, below, kLineBytes);
  if constexpr (TwoRows && TwoPanels) _tile_stored(3, below + kSums, kLineBytes);
}

template <class T, bool TwoPanels>
void multiply_panels(const SplitProduct& t) noexcept {
  const std::int64_t tiles = (t.rows + kTileRows - 1) / kTileRows;
  const std::int64_t turns = std::max<std::int64_t>((tiles + 1) / 2 * t.steps, 1) *
                             static_cast<int>(std::size(Split<T>::kPairs));
  Lines lines = {t.next,  t.b_panel_bytes,        t.next_lines, (t.next_lines + turns - 1) / turns,
                 nullptr, t.c_panels * kTileBytes};
  std::int64_t row = 0;
  for (; row + 2 <= tiles; row += 2) multiply_rows<T, true, TwoPanels>(t, row, lines);
  if (row < tiles) multiply_rows<T, false, TwoPanels>(t, row, lines);
}

template <class T>
SN_INLINE void multiply(const SplitProduct& product) {
  if (product.panels > 1)
    multiply_panels<T, true>(product);
  else
    multiply_panels<T, false>(product);
}

// --- packing -------------------------------------------------------------------------------------

struct Words {
  std::uint16_t index[32];
};
constexpr Words alternating_words() {
  Words words = {};
  for (int i = 0; i < 32; ++i) words.index[i] = static_cast<std::uint16_t>(i / 2 + i % 2 * 16);
  return words;
}
constexpr Words kAlternating = alternating_words();

// For each step of the depth a tile of each part; in a tile the numbers of a pair side by side.
template <class T>
SN_INLINE void pack(const float* from, std::int64_t depth, std::byte* to) noexcept {
  const __m512i alternating = _mm512_loadu_si512(kAlternating.index);
  for (std::int64_t k = 0; k < depth; k += kStep, to += step_bytes<T>())
    for (std::int64_t pair = 0; pair < kStep / 2; ++pair) {
      const std::int64_t row = k + 2 * pair;
      __m512 first = _mm512_setzero_ps(), second = first;
      if (row < depth) first = _mm512_loadu_ps(from + row * kTileRows);
      if (row + 1 < depth) second = _mm512_loadu_ps(from + (row + 1) * kTileRows);
      for (int p = 0; p < Split<T>::kParts; ++p)
        _mm512_storeu_si512(
            to + p * kTileBytes + pair * kLineBytes,
            _mm512_permutexvar_epi16(alternating,
                                     take_part(first, second, p == 0 && Split<T>::kParts == 3)));
    }
}

}  // namespace

void split(const SplitRows<Half>& rows) noexcept {
  split_rows(rows);
}
void split(const SplitRows<BFloat16>& rows) noexcept {
  split_rows(rows);
}
void split(const SplitRows<float>& rows) noexcept {
  split_rows(rows);
}

void begin() noexcept {
  _tile_loadconfig(&kConfig);
}
void end() noexcept {
  _tile_release();
}

void multiply_1(const SplitProduct& product) noexcept {
  multiply<BFloat16>(product);
}
void pack_1(const float* from, std::int64_t depth, std::byte* to) noexcept {
  pack<BFloat16>(from, depth, to);
}
void multiply_2(const SplitProduct& product) noexcept {
  multiply<Half>(product);
}
void pack_2(const float* from, std::int64_t depth, std::byte* to) noexcept {
  pack<Half>(from, depth, to);
}
void multiply_3(const SplitProduct& product) noexcept {
  multiply<float>(product);
}
void pack_3(const float* from, std::int64_t depth, std::byte* to) noexcept {
  pack<float>(from, depth, to);
}

}  // namespace softneuro::amxbf16
