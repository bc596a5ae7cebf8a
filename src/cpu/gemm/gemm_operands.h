// C[rows, columns] = A · B for one or several independent products, whose B was packed into panels
// in a format of the instructions that multiply it: sizes and operands of BlockedGemm, HalfGemm and
// SplitPrecisionGemm. The caller knows where the rows of A are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/gemm/micro_kernels.h"

namespace softneuro {

// Sizes of the products. All of them are alike.
struct GemmShape {
  std::int64_t matrices = 1;
  std::int64_t rows = 0, columns = 0;
  std::int64_t segments = 1, length = 0;  // a row of A is that many runs of `length` numbers
  std::int64_t c_row_stride = 0;
  // The rest is for BlockedGemm alone. C's element (r, j) is r·c_row_stride + j / c_block ·
  // c_block_stride + j % c_block floats behind the matrix's first. c_block = 0: columns are side by
  // side.
  std::int64_t c_block = 0, c_block_stride = 0;
  bool half_weights = false;  // B is packed in float16
  // Of B, as in MicroTile; a panel stride of 0: packed.
  std::int64_t b_row_stride = kTilePanel, b_panel_stride = 0;

  std::int64_t depth() const noexcept { return segments * length; }
  std::int64_t panels() const noexcept { return (columns + kTilePanel - 1) / kTilePanel; }
  // Columns of C that are written: blocks are written whole.
  std::int64_t stored_columns() const noexcept {
    return c_block == 0 ? columns : (columns + c_block - 1) / c_block * c_block;
  }
  std::int64_t column_offset(std::int64_t column) const noexcept {
    return c_block == 0 ? column : column / c_block * c_block_stride + column % c_block;
  }
};

struct GemmMatrix {
  const std::byte* b = nullptr;  // panel after panel
  const float* bias = nullptr;   // null, or whole panels
  std::int64_t c_offset = 0;     // of its first element in the output
};

// Rows of A for one block of the sum.
struct GemmRows {
  std::int64_t matrix = 0, row = 0;
  int rows = 0;
  std::int64_t segment = 0, segments = 0;
};

// The most rows and segments that are asked for together; BlockedGemm asks for kTileMaxRows.
inline constexpr int kGemmMaxRows = 32;
inline constexpr std::int64_t kGemmSegments = 64;
// For point(): numbers of scratch for kTileMaxRows rows, and for kGemmMaxRows.
inline constexpr std::int64_t kGemmScratchFloats = 8192;
inline constexpr std::int64_t kGemmScratch =
    (kGemmScratchFloats + kTileMaxRows - 1) / kTileMaxRows * kGemmMaxRows;

// T: of A's numbers, Half, BFloat16 or float.
template <class T>
class GemmOperands {
 public:
  virtual GemmMatrix matrix(std::int64_t index) const noexcept = 0;
  // pointers[s·rows + r]: `length` numbers of row `row + r`, segment `segment + s`. `scratch` may
  // be used until the next call.
  virtual void point(const GemmRows& rows, const T** pointers, T* scratch) const noexcept = 0;

 protected:
  ~GemmOperands() = default;
};

// Bytes of one product's packed B. Ops: TileOps, HalfTileOps or SplitTileOps.
template <class Ops>
std::int64_t product_bytes(const GemmShape& shape, const Ops& ops) noexcept {
  return shape.panels() * ops.panel_bytes(shape.segments, shape.length);
}

// Packs it. fill(first, columns, panel) writes columns [first, first + columns) as float32, number
// k of column first + j to panel[k · kTilePanel + j]; `panel`: a buffer of depth() · kTilePanel.
template <class Ops, class Fill>
void pack_product(const GemmShape& shape, const Ops& ops, Fill&& fill, float* panel,
                  std::byte* to) noexcept {
  const std::int64_t bytes = ops.panel_bytes(shape.segments, shape.length);
  for (std::int64_t first = 0; first < shape.columns; first += kTilePanel, to += bytes) {
    const std::int64_t columns = std::min(kTilePanel, shape.columns - first);
    if (columns < kTilePanel) std::fill_n(panel, shape.depth() * kTilePanel, 0.0f);
    fill(first, columns, panel);
    ops.pack(panel, shape.segments, shape.length, to);
  }
}

}  // namespace softneuro
