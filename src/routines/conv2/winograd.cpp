#include "routines/conv2/winograd.h"

#include <algorithm>

#include "core/isa_variants.h"
#include "core/winograd.h"

namespace softneuro {

SN_CHOOSE_VARIANT(WgOps, kWgOps, wg_ops)

namespace {

constexpr int kMaxTile = kMaxWinogradTile;
constexpr int kLanes = static_cast<int>(kWgPanel);

// One element of each of a panel's columns.
struct Lanes {
  float v[kLanes];
};

// to[i][j] = Σ G[i][k] · g[k][l] · G[j][l] for all columns of a panel at once.
void transform(const WinogradMatrices& w, const Lanes (&g)[kMaxTile][kMaxTile],
               Lanes (&to)[kMaxTile][kMaxTile]) noexcept {
  double half[kMaxTile][kMaxTile][kLanes];
  for (std::size_t i = 0; i < static_cast<std::size_t>(w.tile); ++i)
    for (std::size_t l = 0; l < static_cast<std::size_t>(w.taps); ++l)
      for (int n = 0; n < kLanes; ++n) {
        double sum = 0;
        for (std::size_t k = 0; k < static_cast<std::size_t>(w.taps); ++k)
          sum += w.weights[i][k] * static_cast<double>(g[k][l].v[n]);
        half[i][l][n] = sum;
      }
  for (std::size_t i = 0; i < static_cast<std::size_t>(w.tile); ++i)
    for (std::size_t j = 0; j < static_cast<std::size_t>(w.tile); ++j)
      for (int n = 0; n < kLanes; ++n) {
        double sum = 0;
        for (std::size_t l = 0; l < static_cast<std::size_t>(w.taps); ++l)
          sum += half[i][l][n] * w.weights[j][l];
        to[i][j].v[n] = static_cast<float>(sum);
      }
}

}  // namespace

void pack_wg_weights(const WgWeights& weights, float* to) noexcept {
  const WinogradMatrices w = winograd_matrices(weights.tile, weights.taps);
  const std::int64_t points = weights.tile * weights.tile;
  const std::int64_t panels = (weights.out + kWgPanel - 1) / kWgPanel;
  const std::int64_t kernel = weights.taps * weights.taps;
  for (std::int64_t panel = 0; panel < panels; ++panel)
    for (std::int64_t c = 0; c < weights.in; ++c) {
      Lanes g[kMaxTile][kMaxTile] = {};
      Lanes u[kMaxTile][kMaxTile];
      for (std::int64_t n = 0; n < std::min(kWgPanel, weights.out - panel * kWgPanel); ++n) {
        const float* const from = weights.data + ((panel * kWgPanel + n) * weights.in + c) * kernel;
        for (std::int64_t k = 0; k < kernel; ++k)
          g[k / weights.taps][k % weights.taps].v[n] = from[k];
      }
      transform(w, g, u);
      for (std::int64_t p = 0; p < points; ++p)
        std::copy_n(u[p / weights.tile][p % weights.tile].v, kWgPanel,
                    to + ((p * panels + panel) * weights.in + c) * kWgPanel);
    }
}

}  // namespace softneuro
