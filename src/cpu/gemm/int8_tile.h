// Tiles of products of 8-bit integers: sums in int32, exact on every instruction set, brought to
// float32 or back to 8 bits while they are in registers.
//
// Packed weights: panels of kInt8Panel outputs (the last one shorter, a multiple of kInt8Lanes); in
// a panel, for each four consecutive products of the depth, four weights of every output. What is
// missing in the last panel, or behind the depth, is zero. The same for every instruction set.
#pragma once

#include <cstdint>

#include "core/base/cpu.h"

namespace softneuro {

inline constexpr std::int64_t kInt8Lanes = 16;
inline constexpr std::int64_t kInt8Panel = 64;

constexpr std::int64_t round_up(std::int64_t count, std::int64_t step) noexcept {
  return (count + step - 1) / step * step;
}

// Two weights next to each other in the depth, of one sign, may add up to that much if the sum of
// their products with any two unsigned bytes shall fit 16 bits: 255 · 128 < 2¹⁵.
inline constexpr std::int32_t kInt8PairLimit = 128;

// Numbers to be added to the sums in 8 bits: scale · (q − zero point), one per element of the tile.
struct Int8Addend {
  const std::uint8_t* data = nullptr;  // null: nothing is added
  std::int64_t row_stride = 0;
  float scale = 1;
  std::int32_t zero_point = 0;  // of the bytes as unsigned numbers
  std::uint8_t flip = 0;        // 0x80 if they are signed
};

// Levels to which numbers are rounded before anything is added to them (a model's own 8 bits in
// front of an addition): y = scale · clamp(round(y · inverse), low, low + 255), half to even.
struct Int8Levels {
  float scale = 0;  // 0: nothing is rounded
  float inverse = 0, low = 0;
};

// y[r, c] = levels(fma(start[c] + Σ x[r, k] · w[c, k], scale[c], bias[c])) + addend[r, c], then
// either stored as float32, or as saturate(round(y · inverse) + zero_point) (half to even), with
// the rounded number held within [low, high]. It has many fields because one call of an inner loop
// reads them all.
struct Int8Tile {
  // Activations: bytes of `taps` runs of each row, 4 · quads each: rows[tap · row_count + r].
  const std::uint8_t* const* rows = nullptr;
  std::int64_t row_count = 0, taps = 1, quads = 0;
  bool flip = false;  // x is signed; it is read as x + 128

  const std::int8_t* weights = nullptr;  // one panel
  std::int64_t columns = 0;              // outputs of the panel, at most kInt8Panel
  bool pairs_fit = false;                // the panel's weights keep kInt8PairLimit
  // One per output, padded to a multiple of kInt8Lanes; start: − zero point of x as unsigned · Σ w.
  const std::int32_t* start = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  Int8Levels levels;
  Int8Addend addend;

  float* floats = nullptr;  // given: float32 is stored there, else bytes
  std::uint8_t* bytes = nullptr;
  std::int64_t row_stride = 0;  // of either, in elements
  float inverse = 1, low = 0, high = 255;
  std::int32_t zero_point = 0;
};

using Int8TileFunction = void (*)(const Int8Tile&) noexcept;
struct Int8TileOps {
  Int8TileFunction tile;
  bool gains_by_pairs;  // is faster where weights keep kInt8PairLimit
};

Int8TileOps int8_tile_ops() noexcept;                      // the best for this processor
Int8TileOps int8_tile_ops(CpuFeatures features) noexcept;  // the best for these features

namespace avx512vnni {
void int8_tile(const Int8Tile& tile) noexcept;
}

}  // namespace softneuro
