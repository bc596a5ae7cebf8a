// What is left to do for sums in float32 that are in the cache: bias, post-ops, rounding.
#pragma once

#include <span>

#include "cpu/gemm/sum_store.h"
#include "cpu/gemm/tile_post_ops.h"

namespace softneuro {

// Some rows of the output, and their sums: panels of kPackedPanel columns. T: of the results.
template <class T>
struct SumRows {
  float* sums = nullptr;
  std::int64_t row_stride = 0, panel_stride = 0;
  int rows = 0;
  std::int64_t columns = 0;
  const float* bias = nullptr;  // of the first column; null: none
  T* c = nullptr;               // the layer's whole output
  std::int64_t offset = 0;      // of the first element in it
  std::int64_t c_row_stride = 0;
  // Of float16: rows of results before they are rounded, so far apart. May be the sums, if panels
  // lie side by side.
  float* floats = nullptr;
  std::int64_t floats_stride = 0;
};

// All that is left to do. inputs: the layer's, for post-ops.
template <class T>
void finish_sums(const SumRows<T>& rows, std::span<const TensorView> inputs,
                 const TilePostOps& post_ops, SumStoreFunction<T> store) noexcept;

}  // namespace softneuro
