// GEMM in float32: C[m,n] (+)= A[m,k] · B[k,n] on operands that were packed into panels.
//
// Packed A: panels of kGemmRows rows; within a panel, column after column of A. Packed B: panels of
// kGemmColumns columns; within a panel, row after row of B. What is missing in the last panel is
// zero. The format is the same for every instruction set, so packed weights are portable.
#pragma once

#include <cstdint>

#include "core/base/cpu.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/gemm/packed_panel.h"
#include "softneuro/export.h"

namespace softneuro {

inline constexpr std::int64_t kGemmRows = 6;
inline constexpr std::int64_t kGemmColumns = kTilePanel;
// What one thread multiplies at a time, about.
inline constexpr std::int64_t kGemmTileRows = 96, kGemmTileColumns = 128;
static_assert(kGemmTileRows % kGemmRows == 0 && kGemmTileColumns % kGemmColumns == 0);

// Floats that packed operands take.
constexpr std::int64_t packed_a_floats(std::int64_t m, std::int64_t k) noexcept {
  return chunks_of(m, kGemmRows) * kGemmRows * k;
}
constexpr std::int64_t packed_b_floats(std::int64_t k, std::int64_t n) noexcept {
  return chunks_of(n, kGemmColumns) * kGemmColumns * k;
}

// Element (i, j) of the matrix is at source[i·row_stride + j·column_stride].
struct MatrixView {
  const float* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};
// Rows [row, row + rows) of A with k columns → panels from `packed` on; `row` counts from a.data.
SN_INTREE void pack_a(const MatrixView& a, std::int64_t rows, std::int64_t k,
                      float* packed) noexcept;
SN_INTREE void pack_b(const MatrixView& b, std::int64_t k, std::int64_t columns,
                      float* packed) noexcept;

// One product on the calling thread. In which order an element is summed depends on k and on
// whether A is packed, never on where it stands: equal rows and columns give equal results.
struct GemmTask {
  std::int64_t m = 0, n = 0, k = 0;
  // Panels as above: the next column of A is a_column_stride floats further on, the next panel
  // a_panel_stride (0: kGemmRows · k, as packed). A single row (m = 1) need not be packed, and is
  // faster as it is.
  const float* a = nullptr;
  std::int64_t a_column_stride = kGemmRows, a_panel_stride = 0;
  // Likewise. A row-major B whose n is a multiple of kGemmColumns need not be packed:
  // b_row_stride is its row's length, b_panel_stride kGemmColumns.
  const float* b = nullptr;
  std::int64_t b_row_stride = kGemmColumns, b_panel_stride = 0;
  float* c = nullptr;  // row-major
  std::int64_t c_row_stride = 0;
  bool accumulate = false;  // add to what C holds
};

struct GemmOps {
  void (*run)(const GemmTask& task) noexcept;
};
// The best variant for this processor, or for one with these features.
SN_INTREE const GemmOps& gemm_ops() noexcept;
SN_INTREE const GemmOps& gemm_ops(CpuFeatures features) noexcept;
SN_INTREE void gemm(GemmTask task) noexcept;

}  // namespace softneuro
