// The inner loops of GEMM: tiles of up to 6 rows by a few vectors, held in registers.
#include <algorithm>
#include <iterator>

#include "cpu/gemm/gemm.h"

#if defined(SOFTNEURO_EDGE) && defined(__GNUC__) && !defined(__clang__)
// The edge build optimises for size; here that would leave the tiles in memory.
#pragma GCC optimize("O3")
#endif

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

#if defined(__AVX512F__)
constexpr int kWidth = 16, kVectors = 4;  // 24 of 32 registers hold sums
#elif defined(__AVX2__)
constexpr int kWidth = 8, kVectors = 2;  // 12 of 16
#elif defined(__ARM_NEON)
constexpr int kWidth = 4, kVectors = 4;  // 24 of 32
#else
constexpr int kWidth = 4, kVectors = 2;  // 12 of 16
#endif
constexpr int kRows = static_cast<int>(kGemmRows);
constexpr int kPerPanel = static_cast<int>(kGemmColumns) / kWidth;  // vectors
static_assert(kPerPanel * kWidth == kGemmColumns);

typedef float Vector __attribute__((vector_size(kWidth * sizeof(float))));
typedef float Unaligned
    __attribute__((vector_size(kWidth * sizeof(float)), aligned(alignof(float)), may_alias));

inline Vector load(const float* from) {
  return *reinterpret_cast<const Unaligned*>(from);
}
inline void store(float* to, Vector value) {
  *reinterpret_cast<Unaligned*>(to) = value;
}

// Summed in blocks of this depth: the part of B that a tile reads stays in the cache.
constexpr std::int64_t kDepth = 256;

struct Tile {
  std::int64_t k;
  const float* a;
  std::int64_t a_step;
  const float* b;
  std::int64_t b_step, b_panel_stride;
  float* c;
  std::int64_t c_row_stride;
  bool accumulate;
};

// C[Rows, V·kWidth] (+)= A · B. Sums are split by k modulo kSplits.
template <int Rows, int V, int kSplits>
void multiply_tile(const Tile& t) noexcept {
  Vector sums[kSplits][Rows][V] = {};
  const float* a = t.a;
  const float* b = t.b;
  const auto step = [&](int s) {
    Vector row[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v)
      row[v] = load(b + v / kPerPanel * t.b_panel_stride + v % kPerPanel * kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sums[s][r][v] += row[v] * a[r];
    a += t.a_step;
    b += t.b_step;
  };
  std::int64_t k = t.k;
  for (; k >= kSplits; k -= kSplits)
#pragma GCC unroll 8
    for (int s = 0; s < kSplits; ++s) step(s);
  if constexpr (kSplits > 1)
    for (; k > 0; --k) step(0);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      Vector sum = sums[0][r][v];
#pragma GCC unroll 8
      for (int s = 1; s < kSplits; ++s) sum += sums[s][r][v];
      float* const to = t.c + r * t.c_row_stride + v * kWidth;
      store(to, t.accumulate ? sum + load(to) : sum);
    }
}

using TileFunction = void (*)(const Tile&) noexcept;

// A single row has too few sums to keep the multipliers busy: they would wait for each other.
constexpr int kSingleRowSplits = 8 / kVectors;

// Rows of a taller matrix, the last ones included, are all summed alike: equal rows and columns
// give equal results, wherever they stand.
template <int V>
TileFunction tile_of_rows(std::int64_t rows, bool single_row) noexcept {
  constexpr TileFunction kByRows[] = {multiply_tile<1, V, 1>, multiply_tile<2, V, 1>,
                                      multiply_tile<3, V, 1>, multiply_tile<4, V, 1>,
                                      multiply_tile<5, V, 1>, multiply_tile<6, V, 1>};
  static_assert(std::size(kByRows) == kRows);
  return single_row ? multiply_tile<1, V, kSingleRowSplits> : kByRows[rows - 1];
}

TileFunction tile_function(std::int64_t rows, std::int64_t vectors, bool single_row) noexcept {
  if constexpr (kVectors > 2) {
    if (vectors == 4) return tile_of_rows<4>(rows, single_row);
    if (vectors == 3) return tile_of_rows<3>(rows, single_row);
  }
  return vectors == 2 ? tile_of_rows<2>(rows, single_row) : tile_of_rows<1>(rows, single_row);
}

// A tile whose last vector reaches beyond C: computed apart, then copied as far as it is wanted.
void multiply_ragged(const Tile& tile, TileFunction function, std::int64_t rows,
                     std::int64_t columns) noexcept {
  float buffer[kRows * kVectors * kWidth];
  Tile apart = tile;
  apart.c = buffer;
  apart.c_row_stride = kVectors * kWidth;
  apart.accumulate = false;
  function(apart);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < columns; ++j) {
      float& to = tile.c[r * tile.c_row_stride + j];
      const float sum = buffer[r * kVectors * kWidth + j];
      to = tile.accumulate ? sum + to : sum;
    }
}

// All rows of A against columns [j, j + columns) of B, for one block of the depth.
void multiply_columns(const GemmTask& task, std::int64_t j, std::int64_t columns, std::int64_t k0,
                      std::int64_t depth) noexcept {
  const std::int64_t vectors = (columns + kWidth - 1) / kWidth;
  Tile tile;
  tile.k = depth;
  tile.a_step = task.a_column_stride;
  tile.b =
      task.b + j / kGemmColumns * task.b_panel_stride + k0 * task.b_row_stride + j % kGemmColumns;
  tile.b_step = task.b_row_stride;
  tile.b_panel_stride = task.b_panel_stride;
  tile.c_row_stride = task.c_row_stride;
  tile.accumulate = task.accumulate || k0 > 0;
  for (std::int64_t i = 0; i < task.m; i += kGemmRows) {
    const std::int64_t rows = std::min(kGemmRows, task.m - i);
    tile.a = task.a + i / kGemmRows * task.a_panel_stride + k0 * task.a_column_stride;
    tile.c = task.c + i * task.c_row_stride + j;
    const TileFunction function = tile_function(rows, vectors, task.a_column_stride != kGemmRows);
    if (columns % kWidth == 0)
      function(tile);
    else
      multiply_ragged(tile, function, rows, columns);
  }
}

void run(const GemmTask& task) noexcept {
  constexpr std::int64_t kColumns = kVectors * kWidth;
  for (std::int64_t j = 0; j < task.n; j += kColumns) {
    const std::int64_t columns = std::min(kColumns, task.n - j);
    std::int64_t k0 = 0;
    do {  // at least once: without depth C is zero
      const std::int64_t depth = std::min(kDepth, task.k - k0);
      multiply_columns(task, j, columns, k0, depth);
      k0 += kDepth;
    } while (k0 < task.k);
  }
}

}  // namespace

extern const GemmOps kGemmOps;
const GemmOps kGemmOps = {run};

}  // namespace softneuro::SN_ISA_NAMESPACE
