// C[rows, columns] = A · B in float16 by HalfTileOps, for one or several independent products, cut
// into tasks and blocked for the cache as a TileSweep is. Sums stay on the stack until they are
// rounded: nothing of float32 goes through memory.
#pragma once

#include "core/gemm/half_tile.h"
#include "core/gemm/tile_post_ops.h"
#include "core/gemm/tile_sweep.h"

namespace softneuro {

// For HalfSweepOperands::point(): what the most rows would use of a SweepOperands' scratch.
inline constexpr std::int64_t kHalfScratch =
    (kSweepScratchFloats + kTileMaxRows - 1) / kTileMaxRows * kHalfMaxRows;

// Sizes of the products. All of them are alike.
struct HalfSweepShape {
  std::int64_t matrices = 1;
  std::int64_t rows = 0, columns = 0;
  std::int64_t segments = 1, length = 0;  // a row of A is that many runs of `length` numbers
  std::int64_t c_row_stride = 0;

  std::int64_t depth() const noexcept { return segments * length; }
  std::int64_t panels() const noexcept { return (columns + kHalfPanel - 1) / kHalfPanel; }
};

class HalfSweepOperands {
 public:
  struct Matrix {
    const std::byte* b = nullptr;  // packed: panel after panel
    const float* bias = nullptr;   // null, or whole panels
    std::int64_t c_offset = 0;     // of its first element in the output
  };
  virtual Matrix matrix(std::int64_t index) const noexcept = 0;
  // pointers[s·rows + r]: `length` numbers of row `row + r`, segment `segment + s`. `scratch`, of
  // kHalfScratch numbers, may be used until the next call.
  virtual void point(const SweepRows& rows, const Half** pointers,
                     Half* scratch) const noexcept = 0;

 protected:
  ~HalfSweepOperands() = default;
};

// Immutable. How the work is cut depends on shape, limits and ops only.
class HalfSweep {
 public:
  HalfSweep() = default;
  // rows, columns and depth are positive or the result is never run.
  HalfSweep(const HalfSweepShape& shape, const SweepLimits& limits, const HalfTileOps& ops);

  // Bytes of one product's packed B, and the packing: weight(k, j) is number k of column j as
  // float32; `panel` is a buffer of depth() · kHalfPanel floats.
  static std::int64_t packed_bytes(const HalfSweepShape& shape, const HalfTileOps& ops) noexcept;
  template <class Weight>
  static void pack(const HalfSweepShape& shape, const HalfTileOps& ops, Weight&& weight,
                   float* panel, std::byte* to) noexcept {
    const std::int64_t bytes = ops.panel_bytes(shape.segments, shape.length);
    for (std::int64_t first = 0; first < shape.columns; first += kHalfPanel, to += bytes) {
      for (std::int64_t k = 0; k < shape.depth(); ++k)
        for (std::int64_t j = 0; j < kHalfPanel; ++j)
          panel[k * kHalfPanel + j] = first + j < shape.columns ? weight(k, first + j) : 0.0f;
      ops.pack(panel, shape.segments, shape.length, to);
    }
  }

  // c: memory of the layer's whole output; inputs: those of the layer, for post-ops.
  void run(ThreadPool& pool, std::span<const TensorView> inputs, Half* c,
           const HalfSweepOperands& operands, const TilePostOps& post_ops) const noexcept;

 private:
  struct Task;
  // First panel of group `group`.
  std::int64_t panels_before(std::int64_t group) const noexcept {
    return shape_.panels() * group / groups_;
  }
  void run_task(Task& task, std::int64_t index) const noexcept;
  void run_rows(const Task& task, std::int64_t row, int rows, std::int64_t first_group,
                std::int64_t last_group) const noexcept;
  void finish(const Task& task, std::int64_t row, int rows, std::int64_t column,
              std::int64_t columns, float* sums, std::int64_t stride) const noexcept;

  HalfSweepShape shape_;
  const HalfTileOps* ops_ = nullptr;
  std::int64_t panel_bytes_ = 0;
  std::int64_t groups_ = 1;       // of panels that make a tile
  std::int64_t pass_groups_ = 1;  // that stay in the cache together
  int tile_rows_ = 1;             // at most
  SweepPieces pieces_;            // tasks of one matrix
};

}  // namespace softneuro
