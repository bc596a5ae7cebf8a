// A matmul problem as a batch of matrix products: vectors are matrices of one row or column.
#pragma once

#include "core/routine/problem.h"
#include "cpu/gemm/packed_panel.h"

namespace softneuro {

// Of the operands, what one task copies into the order that the kernels read.
inline constexpr std::int64_t kColumnsTogether = 8 * kTilePanel;  // of B
inline constexpr std::int64_t kRowsTogether = 96;                 // of A

struct MatmulGeometry {
  std::int64_t rows = 1, depth = 1, columns = 1;  // of one product
  // Steps through each operand's elements by row and column of the matrix as it is multiplied.
  std::int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0;
  Shape batch;             // broadcast batch axes; rank 0: one product
  Shape a_batch, b_batch;  // elements to step per batch axis, 0 where broadcast

  std::int64_t batches() const noexcept { return batch.elements(); }
  // Where the matrices of product `index` (row-major over `batch`) begin.
  std::int64_t a_offset(std::int64_t index) const noexcept { return offset(index, a_batch); }
  std::int64_t b_offset(std::int64_t index) const noexcept { return offset(index, b_batch); }

 private:
  std::int64_t offset(std::int64_t index, const Shape& steps) const noexcept;
};

// The problem's shapes have passed LayerType::infer.
MatmulGeometry matmul_geometry(const Problem& problem) noexcept;

// One B for all batches and rows of A that follow each other: the same as a single product of many
// rows. Others stay as they are.
MatmulGeometry join_batches(MatmulGeometry geometry) noexcept;

}  // namespace softneuro
