// The inner loops of Winograd convolution, one variant per instruction set: tiles of the input
// into the transformed domain, products there, and back.
//
// Transformed data are stored in blocks of 16 channels: element (p, block, tile, lane) stands at
// p·point_stride + block·block_stride + 16·tile + lane, where p = 0 … t²−1 counts the elements of
// a t×t tile. So each vector that the transforms write is one cache line, and a row of the
// products is at a fixed distance from the next. They are float32, whatever the type T of the
// tensors: float, Half or BFloat16.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/cpu.h"
#include "core/layers/winograd_matrices.h"
#include "softneuro/types.h"

namespace softneuro {

inline constexpr std::int64_t kWgBlock = 16;  // channels
inline constexpr std::int64_t kWgPanel = 32;  // columns of packed weights that are stored together

// One image, and what stands for the pixels outside of it.
template <class T>
struct WgImage {
  const T* data;
  std::int64_t height, width, pixel_stride;
  const T* zeros;  // as many as the channels that are read of a pixel
};
// Where the tile×tile pixels from (top, left) on begin.
template <class T>
void find_wg_pixels(const WgImage<T>& image, int tile, std::int64_t top, std::int64_t left,
                    const T** pixels) noexcept;

// One tile of the input, `blocks` blocks of its channels.
template <class T>
struct WgEncode {
  // Channel 0 of each of the t×t pixels; outside of the image a pixel of zeros.
  const T* const* pixels;
  std::int64_t input_block_stride;  // from one block of channels to the next
  std::int64_t blocks;
  std::int64_t last_channels;  // of the last block: 1 … 16; the other lanes become zero
  float* to;                   // at (0, 0, tile)
  std::int64_t point_stride, block_stride;
};

// One panel of weights: G g Gᵀ for `depth` input channels.
struct WgExpand {
  const float* from;  // per channel taps² rows of kWgPanel
  std::int64_t depth;
  float* to;  // per point `depth` rows of kWgPanel
  std::int64_t point_stride;
};

// Products for one point: c[tile, n] = Σ v[tile, k] · u[k, n].
struct WgMultiply {
  std::int64_t tiles, depth;
  const float* v;
  std::int64_t v_block_stride;
  // Panels of kWgPanel columns, depth rows each, one after the other.
  const float* u;
  std::int64_t output_blocks;  // columns / 16; an odd last one is half a panel
  float* c;
  std::int64_t c_block_stride;
  bool accumulate;  // add to what c holds
};

// One tile of the output: y = clamp(inverse + bias + addend, low, high). It has many fields because
// one call of an inner loop reads them all.
template <class T>
struct WgDecode {
  const float* from;  // at (0, 0, tile)
  std::int64_t point_stride, block_stride;
  std::int64_t blocks;
  std::int64_t last_channels;  // of the last block: 1 … 16
  bool pad_last;               // the last block has 16 lanes in memory, the rest to be zero
  const float* bias;           // padded to whole blocks; null: none
  T* y;                        // the tile's first pixel, first channel
  std::int64_t row_stride, pixel_stride, y_block_stride;
  std::int64_t rows, columns;  // of the tile that lie within the output
  const T* addend;             // laid out as y; null: none
  float low, high;             // NaN passes
};

// By tile size; `outputs` of a tile's row is tile + 1 − taps.
template <class T>
struct WgTransforms {
  void (*encode)(int tile, const WgEncode<T>& task) noexcept;
  void (*decode)(int tile, int outputs, const WgDecode<T>& task) noexcept;
};

struct WgOps {
  WgTransforms<float> float32;
  WgTransforms<Half> float16;
  WgTransforms<BFloat16> bfloat16;
  void (*expand)(int tile, int taps, const WgExpand& task) noexcept;
  void (*multiply)(const WgMultiply& task) noexcept;
  // G g Gᵀ of kWgPanel kernels. g: taps² rows of them, u: tile². In double, so that G's fractions
  // do not add to Winograd's own rounding.
  void (*transform_weights)(const WinogradMatrices& w, const float* g, float* u) noexcept;
  std::int64_t tile_rows;  // tiles that multiply() takes at once: best in multiples of it

  template <class T>
  const WgTransforms<T>& of() const noexcept {
    if constexpr (std::is_same_v<T, Half>)
      return float16;
    else if constexpr (std::is_same_v<T, BFloat16>)
      return bfloat16;
    else
      return float32;
  }
};
const WgOps& wg_ops() noexcept;
const WgOps& wg_ops(CpuFeatures features) noexcept;

// Weights[out, in, taps, taps].
struct WgWeights {
  const float* data;
  std::int64_t out, in;
  int tile, taps;

  std::int64_t point_floats() const noexcept {
    return (out + kWgPanel - 1) / kWgPanel * kWgPanel * in;
  }
};
// G g Gᵀ as multiply() reads it, point_floats() for each of tile² points: panels of kWgPanel
// columns (outputs, padded with zeros) of `in` rows each.
void pack_wg_weights(const WgWeights& weights, float* to) noexcept;
// The weights as they are, as expand() reads them: panels of `in` channels of taps² rows each;
// taps² · point_floats().
void pack_wg_panels(const WgWeights& weights, float* to) noexcept;

// Whether WgOps know the pair: kernels of 3x3 and 5x5.
constexpr bool has_wg(std::int64_t tile, std::int64_t taps) noexcept {
  return (taps == 3 && (tile == 4 || tile == 6 || tile == 8)) ||
         (taps == 5 && (tile == 6 || tile == 8));
}

}  // namespace softneuro
