// The inner loops of products of float16 matrices on processors that have arithmetic for them: a
// block of C, of some rows of A that lie anywhere in memory (as in MicroTile) and of packed columns
// of B, in float32.
#pragma once

#include <cstdint>

#include "core/base/cpu.h"
#include "cpu/gemm/epilogue_store.h"
#include "cpu/gemm/packed_panel.h"
#include "softneuro/types.h"

namespace softneuro {

// C[r, j] = Σ a[s·rows + r][k] · B[s·length + k, j], added to what is there if `add`.
struct HalfTile {
  const Half* const* a = nullptr;  // a pointer for each segment and row
  int rows = 0;
  std::int64_t segments = 0, length = 0;
  // First panel, at the first of these segments; bytes from panel to panel.
  const std::byte* b = nullptr;
  std::int64_t b_panel_bytes = 0;
  std::int64_t panels = 0;
  float* c =
      nullptr;  // whole panels; what lies behind the rows, up to max_rows, may be overwritten
  std::int64_t c_row_stride = 0;
  bool add = false;
};

struct HalfTileOps {
  CpuFeatures needs;   // without which nothing of this may be called
  int max_panels = 0;  // of a tile
  // Rows of a tile of so many panels (of 1, 2, 3, and 4 or more).
  int max_rows[4] = {};
  void (*multiply)(const HalfTile&) noexcept = nullptr;
  // Bytes of a packed panel's first `segments` segments.
  std::int64_t (*panel_bytes)(std::int64_t segments, std::int64_t length) noexcept = nullptr;
  // One panel, from kTilePanel float32 for each number of the depth.
  void (*pack)(const float* from, std::int64_t segments, std::int64_t length,
               std::byte* to) noexcept = nullptr;
  void (*store)(const EpilogueStore<Half>&) noexcept = nullptr;

  int rows_of(std::int64_t panels) const noexcept {
    return max_rows[(panels < 4 ? panels : 4) - 1];
  }
};

// Arithmetic in float16: the products of kHalfTerms even and as many odd
// numbers of the depth are summed in float16, those partial sums in float32. An element's error is
// that of rounding partial sums some times, whatever the element itself; a partial sum beyond 65504
// becomes infinite, and so does the element, even if others would bring it back. Null: not in this
// build.
const HalfTileOps* fp16_tile_ops() noexcept;
inline constexpr std::int64_t kHalfTerms = 32;

}  // namespace softneuro
