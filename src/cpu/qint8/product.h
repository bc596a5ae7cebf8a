// The fast product of a quantised input by 8-bit weights, for convolution and dense: weights in the
// order of cpu/gemm/int8_tile.h, and what happens to the sums.
#pragma once

#include "core/routine/routine.h"
#include "cpu/gemm/int8_tile.h"
#include "cpu/qint8/epilogue.h"

namespace softneuro {

// The matrix product [rows, depth] · [depth, outputs] of each group.
struct ProductSizes {
  std::int64_t groups = 1;
  std::int64_t outputs = 0;  // per group
  std::int64_t depth = 0;    // products per output: taps · bytes per tap
  std::int64_t taps = 1;     // contiguous runs of which a row of the input consists

  std::int64_t panels() const { return (outputs + kInt8Panel - 1) / kInt8Panel; }  // of a group
  std::int64_t quads() const { return (depth / taps + 3) / 4; }                    // of a tap
};

// Rows of the product that are contiguous.
struct ProductBlock {
  const std::uint8_t* const* rows = nullptr;  // as Int8Tile::rows, of this group
  std::int64_t row_count = 0;                 // at most QuantizedProduct::max_rows()
  std::int64_t first_row = 0;                 // in the output, where a row has groups · outputs
  std::int64_t group = 0;
  std::int64_t first_panel = 0, panels = 0;  // at most QuantizedProduct::max_panels()
};

class QuantizedProduct {
 public:
  // Packs what quantize_weights() gives. A row of those is [channels][kernel]; it becomes
  // [kernel][channels], as the bytes of an input in the layout nhwc are stored. Precondition: depth
  // / taps is a multiple of 4, or taps is 1.
  static Status pack(const Problem& problem, const ProductSizes& sizes, std::int64_t kernel,
                     std::byte* packed);
  // What that writes.
  static std::size_t packed_bytes(const ProductSizes& sizes);
  // For kernels: `packed` is kept.
  static Result<QuantizedProduct> create(const Problem& problem, const ProductSizes& sizes,
                                         const PackedWeights& packed);

  std::int64_t max_rows() const noexcept { return max_rows_; }
  std::int64_t max_panels() const noexcept { return max_panels_; }
  // The byte that stands for the real number 0 in the input.
  std::uint8_t zero_byte() const noexcept { return zero_byte_; }

  void run(const Context& context, const ProductBlock& block) const noexcept;

 private:
  void run_panels(const Context& context, const ProductBlock& block, float* tile,
                  std::int64_t width) const noexcept;
  void finish_block(const Context& context, const ProductBlock& block, float* tile,
                    std::int64_t width) const noexcept;

  ProductSizes sizes_;
  Tensor packed_;
  QuantizedEpilogue epilogue_;
  Int8TileFunction tile_ = nullptr;
  bool flip_ = false;
  std::uint8_t zero_byte_ = 0;
  std::int64_t max_rows_ = 0, max_panels_ = 0;
};

}  // namespace softneuro
