// The epilogue of products whose float32 sums are in the cache: bias, post-ops, rounding.
#pragma once

#include <span>

#include "cpu/gemm/epilogue_post_ops.h"
#include "cpu/gemm/epilogue_store.h"

namespace softneuro {

// Some rows of the output, and their sums: panels of kTilePanel columns. T: of the results.
template <class T>
struct EpilogueRows {
  float* sums = nullptr;
  std::int64_t row_stride = 0, panel_stride = 0;
  int rows = 0;
  std::int64_t columns = 0;
  const float* bias = nullptr;  // of the first column; null: none
  T* c = nullptr;               // the layer's whole output
  std::int64_t offset = 0;      // of the first element in it
  std::int64_t c_row_stride = 0;
  // Of 16-bit types: rows of results before they are rounded, so far apart. May be the sums, if
  // panels are contiguous.
  float* floats = nullptr;
  std::int64_t floats_stride = 0;
};

// Writes the results. inputs: the layer's, for post-ops.
template <class T>
void apply_epilogue(const EpilogueRows<T>& rows, std::span<const TensorView> inputs,
                    const EpiloguePostOps& post_ops, EpilogueStoreFunction<T> store) noexcept;

}  // namespace softneuro
