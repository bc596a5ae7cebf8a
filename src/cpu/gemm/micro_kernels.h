// The micro-kernels of float32 products: a tile of C, held in registers, of some rows of A that
// are anywhere in memory and of packed columns of B. Since every row is given by pointers, one set
// of kernels serves matrix products (a row is contiguous) and convolutions without im2col (a row
// is what one output pixel sees: one pointer per position of the kernel).
#pragma once

#include <cstdint>

#include "core/base/cpu.h"
#include "cpu/gemm/packed_panel.h"

namespace softneuro {

inline constexpr int kTileMaxVectors = 4;
inline constexpr int kTileMaxRows = 14;
inline constexpr std::int64_t kTileLine = 64;                      // bytes of a cache line
inline constexpr std::int64_t kTileNever = std::int64_t{1} << 40;  // of MicroTile::next_every

// C[r, j] = bias[j] + addend[r, j] + Σ a[s·rows + r][offset + k] · B[s·length + k, j], clamped.
// It has many fields because one call of an inner loop reads them all.
struct MicroTile {
  const float* const* a = nullptr;  // a pointer for each segment and row
  std::int64_t segments = 0;
  std::int64_t offset = 0, length = 0;  // what is read behind each pointer
  // Panels, at the first row of the sum and the first column of the tile; strides in elements
  // (float32, or float16 for multiply_half). Packed (pack_b in gemm.h), a panel's rows follow each
  // other; a row-major B of whole panels can be read in place.
  const void* b = nullptr;
  std::int64_t b_row_stride = kTilePanel, b_panel_stride = 0;
  float* c = nullptr;
  std::int64_t c_row_stride = 0;
  std::int64_t c_offsets[kTileMaxVectors] = {};  // where each vector of a row is
  std::int64_t last_lanes = 0;                   // lanes of the last vector that belong to C
  const float* bias = nullptr;                   // null, or whole vectors
  const float* addend = nullptr;                 // null, or placed as c; may be c
  bool clamp = false;                            // to [low, high]; NaN stays
  float low = 0, high = 0;
  // What will be read next, called into the second-level cache on the way: a cache line whenever k
  // is a multiple of next_every, a power of two. Tiles of one or two rows, whose
  // time is that of reading B, call what they read themselves shortly.
  const void* next = nullptr;
  std::int64_t next_every = kTileNever;
};
using MicroKernel = void (*)(const MicroTile&) noexcept;

struct MicroKernels {
  int lanes = 0;        // columns in a vector; divides kTilePanel
  int max_vectors = 0;  // side by side in a tile
  // The most rows of a tile that is `vectors` wide: max_rows[vectors − 1].
  int max_rows[kTileMaxVectors] = {};
  // multiply[vectors − 1][rows − 1]: B in float32. In which order an element is summed does not
  // depend on them.
  MicroKernel multiply[kTileMaxVectors][kTileMaxRows] = {};
  MicroKernel multiply_half[kTileMaxVectors][kTileMaxRows] = {};  // B in float16
};

// The best variant for this processor, or for one with these features.
const MicroKernels& micro_kernels() noexcept;
const MicroKernels& micro_kernels(CpuFeatures features) noexcept;
// The best variant for this processor whose vectors have at most so many lanes; those of the plain
// processor have the fewest.
const MicroKernels& micro_kernels_within(std::int64_t most_lanes) noexcept;

}  // namespace softneuro
