// How operands that broadcast to an output are read while the output is written in the order of
// its memory, whatever its layout.
#pragma once

#include <span>

#include "core/base/error.h"
#include "softneuro/shape.h"
#include "softneuro/types.h"

namespace softneuro {

// Row-major over `dims`; an operand's element stands at Σ index·strides (0 where it is broadcast).
// Dimensions that all operands can walk as one are one, so the common forms (same shape, scalar,
// per channel, trailing) have one to three. rank >= 1; along the last dimension, a row, every
// operand's stride is 0 or 1.
struct BroadcastWalk {
  static constexpr int kMaxDims = kMaxRank + 2;  // a blocked layout splits the channels
  static constexpr int kMaxOperands = 3;

  struct Operand {
    Shape shape;
    // That of the output (with the output's rank), or plain. A plain operand of a blocked output
    // must have its channels padded to full blocks, or broadcast.
    Layout layout = Layout::plain;
  };

  int rank = 0;
  std::int64_t dims[kMaxDims] = {};
  std::int64_t strides[kMaxOperands][kMaxDims] = {};

  // unsupported if an operand's layout is neither plain nor the output's.
  SN_INTREE static Result<BroadcastWalk> make(const Shape& output, Layout layout,
                                              std::span<const Operand> operands);

  std::int64_t columns() const noexcept { return dims[rank - 1]; }
  // Operand's element opposite element `offset` of the output's memory.
  std::int64_t at(int operand, std::int64_t offset) const noexcept;
  // Rows that follow each other at one distance in every operand.
  std::int64_t rows() const noexcept { return rank > 1 ? dims[rank - 2] : 1; }
  std::int64_t row_stride(int operand) const noexcept {
    return rank > 1 ? strides[operand][rank - 2] : 0;
  }
  bool is_row_constant(int operand) const noexcept { return strides[operand][rank - 1] == 0; }

  // Partitions the elements [offset, offset + count) into blocks of whole rows and single parts of
  // rows, in order: f(first, rows, columns).
  template <class F>
  void for_blocks(std::int64_t offset, std::int64_t count, F&& f) const {
    const std::int64_t per_row = columns(), per_block = rows();
    while (count > 0) {
      const std::int64_t column = offset % per_row;
      std::int64_t block_rows = 1, block_columns = per_row;
      if (column == 0 && count >= per_row) {
        const std::int64_t rows_left = per_block - offset / per_row % per_block;
        block_rows = count / per_row < rows_left ? count / per_row : rows_left;
      } else {
        block_columns = count < per_row - column ? count : per_row - column;
      }
      f(offset, block_rows, block_columns);
      offset += block_rows * block_columns;
      count -= block_rows * block_columns;
    }
  }
};

// Elements of a tensor in memory, padding included. Precondition: they fit in memory.
std::int64_t stored_elements(const Shape& shape, Layout layout) noexcept;

// The channels that pad the last block of a blocked layout must stay zero.
class ChannelPadding {
 public:
  ChannelPadding() noexcept = default;  // no padding
  ChannelPadding(const Shape& shape, Layout layout) noexcept;

  // Calls zero(i) for each i in [0, count) such that element offset + i is padding.
  template <class Zero>
  void for_each(std::int64_t offset, std::int64_t count, Zero&& zero) const {
    if (used_ == 0) return;
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t at = offset + i;
      if (at / block_elements_ % blocks_ != blocks_ - 1) {
        i += block_elements_ - at % block_elements_;
        continue;
      }
      const std::int64_t lane = at % block_;
      if (lane >= used_) zero(i);
      i += lane < used_ ? used_ - lane : 1;
    }
  }
  // Zeroes data[0, count), which are the elements from `offset` on, where they are padding.
  void clear(float* data, std::int64_t offset, std::int64_t count) const noexcept {
    for_each(offset, count, [&](std::int64_t i) { data[i] = 0; });
  }
  bool any() const noexcept { return used_ != 0; }

 private:
  std::int64_t block_ = 1;           // channels per block
  std::int64_t used_ = 0;            // channels of the last block that are in use; 0: all
  std::int64_t blocks_ = 1;          // ⌈C / block⌉
  std::int64_t block_elements_ = 1;  // spatial positions · block
};

}  // namespace softneuro
