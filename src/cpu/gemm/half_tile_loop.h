// The loops of HalfTile, for the files of the instruction sets that have the arithmetic. Two
// consecutive numbers of a row of A are broadcast together, and B's panels are packed to match.
// So a broadcast costs one load and no shuffle.
//
// Arithmetic: Number, of A and B; Sum, a vector of kTilePanel columns; zero(), and
// add_products(sum, a pair of A in each 32 bits, a panel's pair of rows of B); as_floats(sum);
// kTerms, pairs of the depth that may be summed before as_floats() is added to C.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "cpu/gemm/epilogue_store_loop.h"
#include "cpu/gemm/half_tile.h"
#include "cpu/gemm/micro_kernels.h"

namespace softneuro::SN_ISA_NAMESPACE {

constexpr std::int64_t kPairBytes = 4 * kTilePanel;  // of a panel's pair of rows
constexpr std::int64_t kPairsAhead = 16;             // are prefetched

template <class Arithmetic, int Rows, int Panels>
class HalfTileLoop {
  using T = typename Arithmetic::Number;
  using Sum = typename Arithmetic::Sum;

 public:
  static void run(const HalfTile<T>& tile) noexcept {
    HalfTileLoop loop(tile);
    loop.multiply();
  }

 private:
  SN_INLINE explicit HalfTileLoop(const HalfTile<T>& tile) : t(tile) {}

  SN_INLINE void multiply() {
    Sum sums[Rows][Panels];
    clear(sums);
    const T* const* pointers = t.a;
    const std::byte* b = t.b;
    const std::int64_t even = t.length / 2 * 2;
    std::int64_t left = Arithmetic::kTerms;
    bool add = t.add;
    const std::byte* next = t.next;
    const std::byte* const next_end = next + t.next_lines * kTileLine;
    const auto flush_if_full = [&]() __attribute__((always_inline)) {
      if (left > 0) return;
      flush(add, sums);
      clear(sums);
      add = true;
      left = Arithmetic::kTerms;
    };
    for (std::int64_t s = 0; s < t.segments; ++s, pointers += Rows) {
      const T* a[Rows];
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) a[r] = pointers[r];
      for (std::int64_t k = 0; k < even;) {
        const std::int64_t end = std::min(even, k + 2 * left);
        left -= (end - k) / 2;
        for (; k < end; k += 2, b += kPairBytes) {
          if constexpr (Rows <= 2) {
#pragma GCC unroll 4
            for (int p = 0; p < Panels; ++p)
              __builtin_prefetch(b + p * t.b_panel_bytes + kPairsAhead * kPairBytes);
          } else if (next != next_end) {
            __builtin_prefetch(next, 0, 2);
            next += kTileLine;
          }
          multiply_pair(a, k, b, sums);
        }
        flush_if_full();
      }
      if (even == t.length) continue;
      multiply_last(a, even, b, sums);
      b += kPairBytes;
      --left;
      flush_if_full();
    }
    if constexpr (HalfTileOps<T>::kFinishes)
      if (t.finish != nullptr) return finish(sums);
    if (left < Arithmetic::kTerms || !add) flush(add, sums);
  }

  SN_INLINE static void clear(Sum (&sums)[Rows][Panels]) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int p = 0; p < Panels; ++p) sums[r][p] = Arithmetic::zero();
  }

  SN_INLINE void finish(Sum (&sums)[Rows][Panels]) {
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      const ColumnStore<To::result_after_addition, T> columns(*t.finish, p * kTilePanel);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) columns.finish(r, Arithmetic::as_floats(sums[r][p]));
    }
  }

  SN_INLINE void flush(bool add, Sum (&sums)[Rows][Panels]) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int p = 0; p < Panels; ++p) {
        float* const to = t.c + r * t.c_row_stride + p * kTilePanel;
        __m512 wide = Arithmetic::as_floats(sums[r][p]);
        if (add) wide = _mm512_add_ps(wide, _mm512_loadu_ps(to));
        _mm512_storeu_ps(to, wide);
      }
  }

  SN_INLINE void multiply_pair(const T* const (&a)[Rows], std::int64_t k, const std::byte* b,
                               Sum (&sums)[Rows][Panels]) {
    __m512i row[Panels];
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) row[p] = _mm512_loadu_si512(b + p * t.b_panel_bytes);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      int pair;
      std::memcpy(&pair, a[r] + k, sizeof pair);
      const __m512i x = _mm512_set1_epi32(pair);
#pragma GCC unroll 4
      for (int p = 0; p < Panels; ++p) sums[r][p] = Arithmetic::add_products(sums[r][p], x, row[p]);
    }
  }

  // The number behind a segment's last pair. Nothing is read behind it: there may be no memory, or
  // NaN.
  SN_INLINE void multiply_last(const T* const (&a)[Rows], std::int64_t k, const std::byte* b,
                               Sum (&sums)[Rows][Panels]) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const __m512i x = _mm512_set1_epi32(a[r][k].bits);
#pragma GCC unroll 4
      for (int p = 0; p < Panels; ++p)
        sums[r][p] =
            Arithmetic::add_products(sums[r][p], x, _mm512_loadu_si512(b + p * t.b_panel_bytes));
    }
  }

  const HalfTile<T>& t;
};

// By panels and rows.
template <class Arithmetic>
class HalfTileTable {
 public:
  constexpr HalfTileTable() {
    add_panels(std::make_integer_sequence<int, std::size(kHalfTileRows)>());
  }
  void run(const HalfTile<typename Arithmetic::Number>& tile) const noexcept {
    functions_[tile.panels - 1][tile.rows - 1](tile);
  }

 private:
  template <int... Index>
  constexpr void add_panels(std::integer_sequence<int, Index...>) {
    (add_rows<Index + 1>(std::make_integer_sequence<int, kHalfTileRows[Index]>()), ...);
  }
  template <int Panels, int... Rows>
  constexpr void add_rows(std::integer_sequence<int, Rows...>) {
    ((functions_[Panels - 1][Rows] = HalfTileLoop<Arithmetic, Rows + 1, Panels>::run), ...);
  }

  void (*functions_[std::size(kHalfTileRows)][kHalfTileRows[0]])(
      const HalfTile<typename Arithmetic::Number>&) noexcept = {};
};

}  // namespace softneuro::SN_ISA_NAMESPACE
