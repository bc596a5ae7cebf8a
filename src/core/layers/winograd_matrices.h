// Winograd's minimal filtering F(m, r): m outputs of a filter with r taps from a tile of
// t = m + r − 1 inputs with t multiplications instead of m·r,
//   y = Aᵀ [(G g) ⊙ (Bᵀ d)],
// by Toom and Cook's choice of points: polynomials are multiplied by their values at t − 1 numbers
// and at infinity. Along two axes the matrices are applied to columns and rows.
//
// The points are 0, ±1, ±2, ±1/2 (as many as a tile needs): small, and powers of two, which keeps
// rounding errors small. Relative to the largest output, with 3 taps: tile 4: 1e-6, tile 6: 1e-5,
// tile 8: 2e-5.
#pragma once

#include <array>
#include <cstdint>

#include "core/graph/params.h"
#include "softneuro/export.h"
#include "softneuro/status.h"

namespace softneuro {

inline constexpr int kMaxWinogradTile = 8;

struct WinogradMatrices {
  int tile = 0;     // t
  int taps = 0;     // r
  int outputs = 0;  // m
  // Row-major; of each row only the first t (input, output) or r (weights) columns count.
  using Matrix = std::array<std::array<double, kMaxWinogradTile>, kMaxWinogradTile>;
  Matrix input{};    // Bᵀ: t rows
  Matrix weights{};  // G: t rows
  Matrix output{};   // Aᵀ: m rows
};

// Whether there is such a transform: tile 4, 6 or 8, taps 2 … tile − 1.
constexpr bool has_winograd(std::int64_t tile, std::int64_t taps) noexcept {
  return (tile == 4 || tile == 6 || tile == 8) && taps >= 2 && taps < tile;
}
// Precondition: has_winograd(tile, taps). The input's matrix depends on the tile only.
SN_INTREE WinogradMatrices winograd_matrices(int tile, int taps) noexcept;
// Of the parameters tile_size and taps.
inline WinogradMatrices winograd_matrices(const Params& params) {
  return winograd_matrices(static_cast<int>(params.integer("tile_size")),
                           static_cast<int>(params.integer("taps")));
}

}  // namespace softneuro
