// The inner loops of products of matrices of 16-bit numbers on processors that have arithmetic for
// them: a block of C, of some rows of A that are anywhere in memory (as in MicroTile) and of packed
// columns of B, in float32.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/cpu.h"
#include "cpu/gemm/epilogue_store.h"
#include "cpu/gemm/packed_panel.h"
#include "softneuro/types.h"

namespace softneuro {

// The most rows of a tile of so many panels (1, 2, 3, and 4): their sums, and a row of each panel,
// fill 32 registers.
inline constexpr int kHalfTileRows[] = {14, 14, 9, 6};

// C[r, j] = Σ a[s·rows + r][k] · B[s·length + k, j], added to what is there if `add`.
// T: of A's and B's numbers, Half or BFloat16. It has many fields because one call of an inner loop
// reads them all.
template <class T>
struct HalfTile {
  const T* const* a = nullptr;  // a pointer for each segment and row
  int rows = 0;
  std::int64_t segments = 0, length = 0;
  // First panel, at the first of these segments; bytes from panel to panel.
  const std::byte* b = nullptr;
  std::int64_t b_panel_bytes = 0;
  std::int64_t panels = 0;
  float* c = nullptr;  // whole panels
  std::int64_t c_row_stride = 0;
  bool add = false;
  // Given, where HalfTileOps::kFinishes: these are all products, and results go where it says,
  // straight from the registers. Of it sums, rows and floats do not count.
  const EpilogueStore<T>* finish = nullptr;
  // What of B is read next: so many cache lines from here on are prefetched into the second-level
  // cache on the way. Tiles of one or two rows, whose time is that of reading B, prefetch what they
  // read themselves.
  const std::byte* next = nullptr;
  std::int64_t next_lines = 0;
};

template <class T>
struct HalfTileOps {
  static constexpr bool kFinishes = std::is_same_v<T, BFloat16>;  // whose sums stay in registers
  CpuFeatures needs;  // without which nothing of this may be called
  void (*multiply)(const HalfTile<T>&) noexcept = nullptr;
  void (*store)(const EpilogueStore<T>&) noexcept = nullptr;

  // Bytes of a packed panel's first `segments` segments: pairs of a segment's numbers side by side,
  // the odd one with a zero.
  static std::int64_t panel_bytes(std::int64_t segments, std::int64_t length) noexcept {
    return segments * ((length + 1) / 2) * kTilePanel * 4;
  }
  // One panel, from kTilePanel float32 for each number of the depth.
  static void pack(const float* from, std::int64_t segments, std::int64_t length,
                   std::byte* to) noexcept;
};

// Sums in float16: the products of kHalfTerms even and as many odd
// numbers of the depth are summed in float16, those partial sums in float32. An element's error is
// that of rounding partial sums some times, whatever the element itself; a partial sum beyond 65504
// becomes infinite, and so does the element, even if others would bring it back. Null: not in this
// build.
const HalfTileOps<Half>* fp16_tile_ops() noexcept;
inline constexpr std::int64_t kHalfTerms = 32;
// Sums in float32. Null: not in this build.
const HalfTileOps<BFloat16>* bf16_tile_ops() noexcept;

// Packs columns of a matrix of 16-bit numbers as one segment, panel after panel. Strides in
// numbers: B[k, j] = from[k · row_stride + j · column_stride].
void pack_pairs(const std::uint16_t* from, std::int64_t row_stride, std::int64_t column_stride,
                std::int64_t depth, std::int64_t columns, std::byte* to) noexcept;

// In files of one instruction set.
namespace avx512fp16 {
void half_tile(const HalfTile<Half>& tile) noexcept;
}
namespace avx512bf16 {
void half_tile(const HalfTile<BFloat16>& tile) noexcept;
}

}  // namespace softneuro
