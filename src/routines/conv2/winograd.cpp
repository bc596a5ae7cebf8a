#include "routines/conv2/winograd.h"

#include <algorithm>

#include "core/base/isa_variants.h"
#include "core/layers/winograd_matrices.h"
#include "cpu/simd/transpose_tiles.h"

namespace softneuro {

SN_CHOOSE_VARIANT(WgOps, kWgOps, wg_ops)

namespace {

constexpr std::size_t kMostTaps = (kMaxWinogradTile - 1) * (kMaxWinogradTile - 1);

// The kernels from input channel c to a panel of outputs, zeros beyond the last: taps² rows.
void read_panel(const WgWeights& weights, std::int64_t panel, std::int64_t c, float* to) noexcept {
  const std::int64_t kernel = weights.taps * weights.taps;
  const std::int64_t first = panel * kWgPanel, count = std::min(kWgPanel, weights.out - first);
  if (count < kWgPanel) std::fill_n(to, kernel * kWgPanel, 0.0f);
  transpose_tiles().transpose(sizeof(float), {weights.data + (first * weights.in + c) * kernel, to,
                                              weights.in * kernel, kWgPanel, count, kernel});
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
  const WgOps& ops = wg_ops();
  float g[kMostTaps * kWgPanel];
  float u[kMaxWinogradTile * kMaxWinogradTile * kWgPanel];
  for (std::int64_t panel = 0; panel < panels; ++panel)
    for (std::int64_t c = 0; c < weights.in; ++c) {
      read_panel(weights, panel, c, g);
      ops.transform_weights(w, g, u);
      for (std::int64_t p = 0; p < points; ++p)
        std::copy_n(u + p * kWgPanel, kWgPanel,
                    to + ((p * panels + panel) * weights.in + c) * kWgPanel);
    }
}

void pack_wg_panels(const WgWeights& weights, float* to) noexcept {
  const std::int64_t panels = (weights.out + kWgPanel - 1) / kWgPanel;
  for (std::int64_t panel = 0; panel < panels; ++panel)
    for (std::int64_t c = 0; c < weights.in; ++c, to += weights.taps * weights.taps * kWgPanel)
      read_panel(weights, panel, c, to);
}

}  // namespace softneuro
