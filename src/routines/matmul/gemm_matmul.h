// What cpu/gemm of matmul and dense have in common: batches of products, packed in chunks and
// multiplied in tiles. An operand may be packed beforehand, once for each of its own matrices. A
// single row is read in place, and so is a row-major B that few rows meet.
#pragma once

#include "core/routine/routine.h"
#include "cpu/gemm/gemm.h"
#include "cpu/gemm/matmul_geometry.h"

namespace softneuro {

// One side of the product: its own matrices, and how they are stored.
struct MatmulSide {
  std::int64_t lanes = 0;          // rows of A, columns of B
  std::int64_t lane_stride = 0;    // from one to the next
  std::int64_t depth_stride = 0;   // along the sum
  std::int64_t matrices = 0;       // in the operand, without broadcasting
  std::int64_t packed_floats = 0;  // of one matrix

  MatmulSide() = default;
  MatmulSide(const MatmulGeometry& g, const Problem& problem, int side);  // 0: A, 1: B
};

// Lanes [lane, lane + count) of one matrix; `lane` begins a panel.
void pack_lanes(const MatmulSide& s, int side, const float* matrix, std::int64_t lane,
                std::int64_t count, std::int64_t depth, float* packed) noexcept;

// packed_side: of what is packed beforehand; -1: nothing. A bias, if there is one, is input 2.
Result<std::unique_ptr<Kernel>> make_gemm_matmul(const Problem& problem,
                                                 const MatmulGeometry& geometry, int packed_side,
                                                 const PackedWeights& packed);

}  // namespace softneuro
