#include "cpu/gemm/gemm.h"

#include <algorithm>

#include "core/base/isa_variants.h"
#include "cpu/simd/transpose_tiles.h"

namespace softneuro {

SN_CHOOSE_VARIANT(GemmOps, kGemmOps, gemm_ops)

namespace {

// Walks `panels` of Width lanes: lane l of panel p at step s is source[(p·Width + l)·lane_stride +
// s·step_stride]. Serves A (lanes are rows) and B (lanes are columns).
template <std::int64_t Width>
void pack(const float* source, std::int64_t lane_stride, std::int64_t step_stride,
          std::int64_t lanes, std::int64_t steps, float* packed) noexcept {
  if (steps == 0) return;  // a matrix of nothing may have no memory
  const TransposeTiles& moves = transpose_tiles();
  for (std::int64_t first = 0; first < lanes; first += Width, packed += Width * steps) {
    const float* const from = source + first * lane_stride;
    const std::int64_t used = std::min(Width, lanes - first);
    if (used < Width) std::fill_n(packed, Width * steps, 0.0f);
    if (step_stride == 1) {
      moves.transpose(sizeof(float), {from, packed, lane_stride, Width, used, steps});
    } else if (lane_stride == 1) {
      moves.copy(sizeof(float), {from, packed, step_stride, Width, steps, used});
    } else {
      for (std::int64_t s = 0; s < steps; ++s)
        for (std::int64_t l = 0; l < used; ++l)
          packed[s * Width + l] = from[l * lane_stride + s * step_stride];
    }
  }
}

}  // namespace

void pack_a(const MatrixView& a, std::int64_t rows, std::int64_t k, float* packed) noexcept {
  pack<kGemmRows>(a.data, a.row_stride, a.column_stride, rows, k, packed);
}

void pack_b(const MatrixView& b, std::int64_t k, std::int64_t columns, float* packed) noexcept {
  pack<kGemmColumns>(b.data, b.column_stride, b.row_stride, columns, k, packed);
}

void gemm(GemmTask task) noexcept {
  if (task.a_panel_stride == 0) task.a_panel_stride = kGemmRows * task.k;
  if (task.b_panel_stride == 0) task.b_panel_stride = kGemmColumns * task.k;
  gemm_ops().run(task);
}

}  // namespace softneuro
