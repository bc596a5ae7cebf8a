// The inner loops of layout changes: a matrix of elements moves to where its rows are columns, or
// to other distances between rows. Per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/cpu.h"
#include "softneuro/export.h"

namespace softneuro {

// Strides are the distances between the beginnings of rows, in elements. Source and target must
// not overlap.
struct TileMove {
  const void* source = nullptr;
  void* target = nullptr;
  std::int64_t source_stride = 0, target_stride = 0;
  std::int64_t rows = 0, columns = 0;  // of the source
};

struct TransposeTiles {
  // target[j · target_stride + i] = source[i · source_stride + j]. `bytes` per element: 1, 2 or 4.
  void (*transpose)(std::size_t bytes, const TileMove& move) noexcept;
  // target[i · target_stride + j] = source[i · source_stride + j].
  void (*copy)(std::size_t bytes, const TileMove& move) noexcept;
};
SN_INTREE const TransposeTiles& transpose_tiles() noexcept;
SN_INTREE const TransposeTiles& transpose_tiles(CpuFeatures features) noexcept;

}  // namespace softneuro
