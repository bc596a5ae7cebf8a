// C[rows, columns] = A · B for one or several independent products, cut into tasks and, within a
// task, blocked for the cache: what dense and convolution routines have in common. The caller
// knows where the rows of A lie (GemmOperands).
#pragma once

#include <cstdint>

#include "cpu/gemm/epilogue_post_ops.h"
#include "cpu/gemm/gemm_tasks.h"

namespace softneuro {

// Sizes of the products. All of them are alike.
struct GemmShape {
  std::int64_t matrices = 1;
  std::int64_t rows = 0, columns = 0;
  // A row of A is that many runs of `length` floats.
  std::int64_t segments = 1, length = 0;
  // C's element (r, j) lies r·c_row_stride + j / c_block · c_block_stride + j % c_block floats
  // behind the matrix's first. c_block = 0: columns lie side by side.
  std::int64_t c_row_stride = 0;
  std::int64_t c_block = 0, c_block_stride = 0;
  bool half_weights = false;  // B is packed in float16
  // Of B, as in MicroTile; a panel stride of 0: packed.
  std::int64_t b_row_stride = kTilePanel, b_panel_stride = 0;

  std::int64_t depth() const noexcept { return segments * length; }
};

// Rows of A for one block of the sum.
struct GemmRows {
  std::int64_t matrix = 0, row = 0;
  int rows = 0;
  std::int64_t segment = 0, segments = 0;
};

inline constexpr std::int64_t kGemmSegments = 64;         // the most in GemmRows
inline constexpr std::int64_t kGemmScratchFloats = 8192;  // for point()

class GemmOperands {
 public:
  struct Matrix {
    const void* b = nullptr;  // packed: panel after panel, depth · kTilePanel elements each
    const float* bias = nullptr;
    std::int64_t c_offset = 0;  // of its first element in the output
  };
  virtual Matrix matrix(std::int64_t index) const noexcept = 0;
  // pointers[s·rows + r]: `length` floats of row `row + r`, segment `segment + s`. `scratch` may be
  // used until the next call.
  virtual void point(const GemmRows& rows, const float** pointers,
                     float* scratch) const noexcept = 0;

 protected:
  ~GemmOperands() = default;
};

// Immutable. The partition depends on shape, limits and instruction set only.
class BlockedGemm {
 public:
  BlockedGemm() = default;
  BlockedGemm(const GemmShape& shape, const GemmLimits& limits, const MicroKernels& kernels);

  // c: memory of the layer's whole output in float32; inputs: those of the layer, for post-ops.
  void run(const Workers& workers, std::span<const TensorView> inputs, float* c,
           const GemmOperands& operands, const EpiloguePostOps& ops) const noexcept;
  std::int64_t tasks() const noexcept { return shape_.matrices * tasks_.count(); }

 private:
  struct Task;
  // A part of the sum: of some segments, or of one.
  struct DepthBlock {
    std::int64_t segment, segments, offset, length;
  };
  // What of B goes together through the cache: some groups, a part of the sum.
  struct Block {
    std::int64_t first_group = 0, last_group = 0, depth = 0;
  };
  // Cache lines [begin, end) of such a part, counted panel by panel from the first panel's on.
  struct Lines {
    const std::byte* first = nullptr;
    std::int64_t panel_bytes = 0, per_panel = 0, begin = 0, end = 0;
    Lines part(std::int64_t index, std::int64_t parts) const noexcept {
      Lines some = *this;
      some.begin = begin + (end - begin) * index / parts;
      some.end = begin + (end - begin) * (index + 1) / parts;
      return some;
    }
  };

  // A group is what lies side by side in one tile: whole panels, or within one. Vectors that come
  // before group g.
  std::int64_t vectors_before(std::int64_t group) const noexcept {
    return group == groups_ ? vectors_ : units_ * group / groups_ * unit_vectors_;
  }
  int widest_group(std::int64_t first, std::int64_t last) const noexcept;
  std::int64_t weight_bytes() const noexcept { return shape_.half_weights ? 2 : 4; }
  std::int64_t column_offset(std::int64_t column) const noexcept;
  // Columns that are written: blocks are written whole.
  std::int64_t stored_columns() const noexcept;
  DepthBlock depth_block(std::int64_t index) const noexcept;
  void choose_blocks(const GemmLimits& limits);

  void begin_task(Task& task, std::int64_t index) const noexcept;
  void run_task(const Task& shared, std::int64_t index) const noexcept;
  bool advance(const Task& task, Block& block) const noexcept;
  const std::byte* weights(const Task& task, std::int64_t column,
                           std::int64_t depth) const noexcept;
  Lines lines_of(const Task& task, const Block& block) const noexcept;
  void run_block(const Task& task, const Block& block, const Lines& next) const noexcept;
  void run_rows(const Task& task, std::int64_t row, int rows, const Block& block,
                const Lines& next) const noexcept;
  static void prefetch(const Lines& lines, MicroTile& tile) noexcept;
  void prefetch_output(const MicroTile& tile, std::int64_t rows_before, std::int64_t rows,
                       std::size_t vectors) const noexcept;
  void finish(const Task& task, std::int64_t row, int rows, std::int64_t first_group,
              std::int64_t last_group) const noexcept;

  GemmShape shape_;
  const MicroKernels* kernels_ = nullptr;
  std::int64_t vectors_ = 0, groups_ = 0;
  std::int64_t units_ = 0, unit_vectors_ = 1;  // groups are made of whole units
  GemmTasks tasks_;                            // tasks of one matrix
  std::int64_t block_groups_ = 0;              // groups that go together
  bool large_output_ = false;  // beyond the cache: what is written next is called into it
  // The sum is cut into blocks of block_segments_, or each segment into segment_parts_.
  std::int64_t depth_blocks_ = 0, block_segments_ = 0, segment_parts_ = 0;
};

}  // namespace softneuro
