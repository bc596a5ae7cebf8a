// Products in float16. Two consecutive numbers of a row of A are broadcast together, and B's panels
// are packed to match: of a column's two lanes one sums the products of even, one those of odd
// numbers of the depth. So a broadcast costs one load and no shuffle, and the sums are half as
// long.
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/gemm/half_tile.h"

namespace softneuro::avx512fp16 {
namespace {

#define SN_INLINE [[gnu::always_inline]] inline

constexpr int kMaxRows[] = {14, 14, 9, 6};      // of a tile so many panels wide: 32 registers
constexpr std::int64_t kStep = 4 * kTilePanel;  // bytes of a panel's pair of rows
constexpr std::int64_t kStepsAhead = 16;

template <int Rows, int Panels>
SN_INLINE void clear(__m512h (&sums)[Rows][Panels]) {
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) sums[r][p] = _mm512_setzero_ph();
}

// Adds the sums of both parities to C.
template <int Rows, int Panels>
SN_INLINE void flush(const HalfTile& t, bool add, __m512h (&sums)[Rows][Panels]) {
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      float* const to = t.c + r * t.c_row_stride + p * kTilePanel;
      const __m512h odd =
          _mm512_castsi512_ph(_mm512_srli_epi32(_mm512_castph_si512(sums[r][p]), 16));
      const __m512i both = _mm512_castph_si512(_mm512_add_ph(sums[r][p], odd));
      __m512 wide = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(both));
      if (add) wide = _mm512_add_ps(wide, _mm512_loadu_ps(to));
      _mm512_storeu_ps(to, wide);
    }
}

template <int Rows, int Panels>
SN_INLINE void multiply_pair(const Half* const (&a)[Rows], std::int64_t k, const std::byte* b,
                             std::int64_t panel, __m512h (&sums)[Rows][Panels]) {
  __m512h row[Panels];
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p) row[p] = _mm512_loadu_ph(b + p * panel);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    int pair;
    std::memcpy(&pair, a[r] + k, sizeof pair);
    const __m512h x = _mm512_castsi512_ph(_mm512_set1_epi32(pair));
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) sums[r][p] = _mm512_fmadd_ph(x, row[p], sums[r][p]);
  }
}

// The number behind a segment's last pair. Nothing is read behind it: there may be no memory, or
// NaN.
template <int Rows, int Panels>
SN_INLINE void multiply_last(const Half* const (&a)[Rows], std::int64_t k, const std::byte* b,
                             std::int64_t panel, __m512h (&sums)[Rows][Panels]) {
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    const __m512h x = _mm512_castsi512_ph(_mm512_set1_epi32(a[r][k].bits));
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p)
      sums[r][p] = _mm512_fmadd_ph(x, _mm512_loadu_ph(b + p * panel), sums[r][p]);
  }
}

template <int Rows, int Panels>
void multiply(const HalfTile& t) noexcept {
  __m512h sums[Rows][Panels];
  clear(sums);
  const Half* const* pointers = t.a;
  const std::byte* b = t.b;
  const std::int64_t panel = t.b_panel_bytes, even = t.length / 2 * 2;
  std::int64_t left = kHalfTerms;
  bool add = t.add;
  const auto flush_if_full = [&]() __attribute__((always_inline)) {
    if (left > 0) return;
    flush<Rows, Panels>(t, add, sums);
    clear(sums);
    add = true;
    left = kHalfTerms;
  };
  for (std::int64_t s = 0; s < t.segments; ++s, pointers += Rows) {
    const Half* a[Rows];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) a[r] = pointers[r];
    for (std::int64_t k = 0; k < even;) {
      const std::int64_t end = std::min(even, k + 2 * left);
      left -= (end - k) / 2;
      for (; k < end; k += 2, b += kStep) {
        if constexpr (Rows <= 2)  // which take as long as reading B
#pragma GCC unroll 4
          for (int p = 0; p < Panels; ++p) __builtin_prefetch(b + p * panel + kStepsAhead * kStep);
        multiply_pair<Rows, Panels>(a, k, b, panel, sums);
      }
      flush_if_full();
    }
    if (even == t.length) continue;
    multiply_last<Rows, Panels>(a, even, b, panel, sums);
    b += kStep;
    --left;
    flush_if_full();
  }
  if (left < kHalfTerms || !add) flush<Rows, Panels>(t, add, sums);
}

using Function = void (*)(const HalfTile&) noexcept;
struct Functions {
  Function of[4][14] = {};  // by panels and rows
};

template <int Panels, int... Rows>
constexpr void add_rows(Functions& functions, std::integer_sequence<int, Rows...>) {
  ((functions.of[Panels - 1][Rows] = multiply<Rows + 1, Panels>), ...);
}

template <int... Index>
constexpr Functions make_functions(std::integer_sequence<int, Index...>) {
  Functions functions;
  (add_rows<Index + 1>(functions, std::make_integer_sequence<int, kMaxRows[Index]>()), ...);
  return functions;
}

constexpr Functions kFunctions = make_functions(std::make_integer_sequence<int, 4>());

}  // namespace

void half_tile(const HalfTile& tile) noexcept;
void half_tile(const HalfTile& tile) noexcept {
  kFunctions.of[tile.panels - 1][tile.rows - 1](tile);
}

}  // namespace softneuro::avx512fp16
