// C[rows, columns] = A · B for one or several independent products, whose B was packed into a
// format of the instructions that multiply it: what HalfGemm and SplitPrecisionGemm have in
// common. The caller knows where the rows of A lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/gemm/blocked_gemm.h"
#include "cpu/gemm/packed_panel.h"

namespace softneuro {

static_assert(kPackedPanel == kTilePanel);  // EpilogueBias pads to whole panels

// Sizes of the products. All of them are alike.
struct PackedShape {
  std::int64_t matrices = 1;
  std::int64_t rows = 0, columns = 0;
  std::int64_t segments = 1, length = 0;  // a row of A is that many runs of `length` numbers
  std::int64_t c_row_stride = 0;

  std::int64_t depth() const noexcept { return segments * length; }
  std::int64_t panels() const noexcept { return (columns + kPackedPanel - 1) / kPackedPanel; }
};

struct PackedMatrix {
  const std::byte* b = nullptr;  // panel after panel
  const float* bias = nullptr;   // null, or whole panels
  std::int64_t c_offset = 0;     // of its first element in the output
};

// The most rows and segments that are asked for together.
inline constexpr int kPackedMaxRows = 32;
inline constexpr std::int64_t kPackedSegments = 64;
// For point(): what the most rows would use of a GemmOperands' scratch.
inline constexpr std::int64_t kPackedScratch =
    (kGemmScratchFloats + kTileMaxRows - 1) / kTileMaxRows * kPackedMaxRows;

// T: of A's numbers, Half or float.
template <class T>
class PackedOperands {
 public:
  virtual PackedMatrix matrix(std::int64_t index) const noexcept = 0;
  // pointers[s·rows + r]: `length` numbers of row `row + r`, segment `segment + s`. `scratch`, of
  // kPackedScratch numbers, may be used until the next call.
  virtual void point(const GemmRows& rows, const T** pointers, T* scratch) const noexcept = 0;

 protected:
  ~PackedOperands() = default;
};

// Bytes of one product's packed B. Ops: HalfTileOps or SplitTileOps.
template <class Ops>
std::int64_t product_bytes(const PackedShape& shape, const Ops& ops) noexcept {
  return shape.panels() * ops.panel_bytes(shape.segments, shape.length);
}

// Packs it. fill(first, columns, panel) writes columns [first, first + columns) as float32, number
// k of column first + j to panel[k · kPackedPanel + j]; `panel`: a buffer of depth() ·
// kPackedPanel.
template <class Ops, class Fill>
void pack_product(const PackedShape& shape, const Ops& ops, Fill&& fill, float* panel,
                  std::byte* to) noexcept {
  const std::int64_t bytes = ops.panel_bytes(shape.segments, shape.length);
  for (std::int64_t first = 0; first < shape.columns; first += kPackedPanel, to += bytes) {
    const std::int64_t columns = std::min(kPackedPanel, shape.columns - first);
    if (columns < kPackedPanel) std::fill_n(panel, shape.depth() * kPackedPanel, 0.0f);
    fill(first, columns, panel);
    ops.pack(panel, shape.segments, shape.length, to);
  }
}

}  // namespace softneuro
