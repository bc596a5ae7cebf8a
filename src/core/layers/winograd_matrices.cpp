#include "core/layers/winograd_matrices.h"

namespace softneuro {
namespace {

constexpr double kPoints[kMaxWinogradTile - 1] = {0, 1, -1, 2, -2, 0.5, -0.5};

// Coefficients, lowest power first, of the product of (x − kPoints[l]) over l < count, l ≠ skip.
std::array<double, kMaxWinogradTile> product(int count, int skip) noexcept {
  std::array<double, kMaxWinogradTile> p{};
  p[0] = 1;
  int degree = 0;
  for (int l = 0; l < count; ++l) {
    if (l == skip) continue;
    ++degree;
    for (int i = degree; i >= 0; --i)
      p[static_cast<std::size_t>(i)] = (i > 0 ? p[static_cast<std::size_t>(i - 1)] : 0.0) -
                                       kPoints[l] * p[static_cast<std::size_t>(i)];
  }
  return p;
}

}  // namespace

WinogradMatrices winograd_matrices(int tile, int taps) noexcept {
  WinogradMatrices w;
  w.tile = tile;
  w.taps = taps;
  w.outputs = tile - taps + 1;
  const int points = tile - 1;
  for (int j = 0; j < points; ++j) {
    const auto row = static_cast<std::size_t>(j);
    w.input[row] = product(points, j);
    double scale = 1;
    for (int l = 0; l < points; ++l)
      if (l != j) scale *= kPoints[j] - kPoints[l];
    double power = 1;  // kPoints[j]^k
    for (std::size_t k = 0; k < static_cast<std::size_t>(tile); ++k) {
      if (k < static_cast<std::size_t>(taps)) w.weights[row][k] = power / scale;
      if (k < static_cast<std::size_t>(w.outputs)) w.output[k][row] = power;
      power *= kPoints[j];
    }
  }
  // Infinity: the highest coefficients.
  const auto last = static_cast<std::size_t>(points);
  w.input[last] = product(points, -1);
  w.weights[last][static_cast<std::size_t>(taps - 1)] = 1;
  w.output[static_cast<std::size_t>(w.outputs - 1)][last] = 1;
  return w;
}

}  // namespace softneuro
