#include "routines/conv2/winograd.h"

#include <algorithm>

#include "core/base/isa_variants.h"
#include "core/layers/winograd_matrices.h"

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

// Element k of the kernels from input channel c to a panel of outputs; zeros beyond the last.
Lanes lanes_at(const WgWeights& weights, std::int64_t panel, std::int64_t c, int k) noexcept {
  const std::int64_t kernel = weights.taps * weights.taps;
  Lanes lanes{};
  for (std::int64_t n = 0; n < std::min(kWgPanel, weights.out - panel * kWgPanel); ++n)
    lanes.v[n] = weights.data[((panel * kWgPanel + n) * weights.in + c) * kernel + k];
  return lanes;
}

}  // namespace

template <class T>
void find_wg_pixels(const WgImage<T>& image, int tile, std::int64_t top, std::int64_t left,
                    const T** pixels) noexcept {
  for (std::int64_t i = 0; i < tile; ++i, pixels += tile) {
    const std::int64_t row = top + i;
    const bool inside = row >= 0 && row < image.height;
    if (inside && left >= 0 && left + tile <= image.width) {
      const T* pixel = image.data + (row * image.width + left) * image.pixel_stride;
      for (int j = 0; j < tile; ++j, pixel += image.pixel_stride) pixels[j] = pixel;
      continue;
    }
    for (std::int64_t j = 0; j < tile; ++j) {
      const std::int64_t column = left + j;
      pixels[j] = inside && column >= 0 && column < image.width
                      ? image.data + (row * image.width + column) * image.pixel_stride
                      : image.zeros;
    }
  }
}

template void find_wg_pixels(const WgImage<float>&, int, std::int64_t, std::int64_t,
                             const float**) noexcept;
template void find_wg_pixels(const WgImage<Half>&, int, std::int64_t, std::int64_t,
                             const Half**) noexcept;
template void find_wg_pixels(const WgImage<BFloat16>&, int, std::int64_t, std::int64_t,
                             const BFloat16**) noexcept;

void pack_wg_weights(const WgWeights& weights, float* to) noexcept {
  const WinogradMatrices w = winograd_matrices(weights.tile, weights.taps);
  const std::int64_t points = weights.tile * weights.tile;
  const std::int64_t panels = (weights.out + kWgPanel - 1) / kWgPanel;
  for (std::int64_t panel = 0; panel < panels; ++panel)
    for (std::int64_t c = 0; c < weights.in; ++c) {
      Lanes g[kMaxTile][kMaxTile];
      Lanes u[kMaxTile][kMaxTile];
      for (int k = 0; k < weights.taps * weights.taps; ++k)
        g[k / weights.taps][k % weights.taps] = lanes_at(weights, panel, c, k);
      transform(w, g, u);
      for (std::int64_t p = 0; p < points; ++p)
        std::copy_n(u[p / weights.tile][p % weights.tile].v, kWgPanel,
                    to + ((p * panels + panel) * weights.in + c) * kWgPanel);
    }
}

void pack_wg_panels(const WgWeights& weights, float* to) noexcept {
  const std::int64_t panels = (weights.out + kWgPanel - 1) / kWgPanel;
  for (std::int64_t panel = 0; panel < panels; ++panel)
    for (std::int64_t c = 0; c < weights.in; ++c)
      for (int k = 0; k < weights.taps * weights.taps; ++k, to += kWgPanel)
        std::copy_n(lanes_at(weights, panel, c, k).v, kWgPanel, to);
}

}  // namespace softneuro
