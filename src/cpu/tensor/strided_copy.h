// StridedCopy: a box of elements that moves between two strided buffers. Nearly all layers that
// only move data (transpose, slice, concat, expand, tile…) are one or a few of them.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "core/base/tensor_view.h"
#include "core/routine/routine.h"
#include "softneuro/thread_pool.h"

namespace softneuro {

// Plain data; copying never allocates. Offsets and strides count elements; a source stride may be
// 0 (the element repeats) or negative. The caller makes sure that all of it is in the buffers.
class SN_INTREE StridedCopy {
 public:
  struct Axis {
    std::int64_t count = 1;
    std::int64_t source_stride = 0;
    std::int64_t target_stride = 0;
  };
  static constexpr int kMaxAxes = 2 * kMaxRank;

  // Appends an axis, outermost first. Axes of one index are dropped, and an axis that continues
  // the one before it in both buffers is merged with it, so that contiguous runs become long.
  // Precondition: at most kMaxAxes calls.
  void add_axis(std::int64_t count, std::int64_t source_stride,
                std::int64_t target_stride) noexcept;
  // Appends axes in the order in which the target has them in memory, whatever the order given.
  void add_axes(std::span<const Axis> axes) noexcept;
  void set_offsets(std::int64_t source, std::int64_t target) noexcept {
    source_offset_ = source;
    target_offset_ = target;
  }

  bool empty() const noexcept { return empty_; }
  // What add_axis made of the axes, outermost first; none: a single element.
  std::span<const Axis> axes() const noexcept {
    return {axes_.data(), static_cast<std::size_t>(rank_)};
  }

  // `element_bytes`: 1, 2, 4 or 8. Contiguous runs go by memcpy. The buffers must not overlap.
  void run(const void* source, void* target, std::size_t element_bytes,
           ThreadPool& pool) const noexcept;

 private:
  std::array<Axis, kMaxAxes> axes_{};
  int rank_ = 0;
  bool empty_ = false;
  std::int64_t source_offset_ = 0;
  std::int64_t target_offset_ = 0;
};

// A kernel that copies from input 0 to output 0.
SN_INTREE std::unique_ptr<Kernel> make_copy_kernel(const StridedCopy& copy);

// memcpy of `bytes`, partitioned among the pool's threads where it is long. source == target:
// nothing.
SN_INTREE void copy_bytes(const void* source, void* target, std::int64_t bytes,
                          ThreadPool& pool) noexcept;
// Fills `count` elements with the one at `value`. `element_bytes`: 1, 2, 4 or 8.
SN_INTREE void fill_elements(const void* value, void* target, std::int64_t count,
                             std::size_t element_bytes, ThreadPool& pool) noexcept;

}  // namespace softneuro
