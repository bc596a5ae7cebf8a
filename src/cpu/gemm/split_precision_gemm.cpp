#include "cpu/gemm/split_precision_gemm.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>

#include "core/base/parallel.h"
#include "cpu/gemm/epilogue.h"

namespace softneuro {
namespace {

constexpr std::int64_t kSpeed = 4;  // times that of the vectors task_operations is about
constexpr std::int64_t kPair = 2;   // panels
constexpr std::int64_t kRowsTogether = 256;
constexpr std::int64_t kTileFloats = kSplitRows * kTilePanel;  // of sums

// Every task splits its rows of A and reads its columns of B, so the larger of the two is
// partitioned.
GemmTasks partition_area(std::int64_t rows, std::int64_t columns, std::int64_t groups,
                         std::int64_t wanted) {
  const double area = static_cast<double>(rows) * static_cast<double>(columns);
  const double side = std::sqrt(area / static_cast<double>(wanted));
  const std::int64_t most_rows = chunks_of(rows, 2 * kSplitRows);
  GemmTasks tasks;
  tasks.rows =
      std::clamp<std::int64_t>(std::llround(static_cast<double>(rows) / side), 1, most_rows);
  tasks.groups = std::clamp<std::int64_t>(chunks_of(wanted, tasks.rows), 1, groups);
  tasks.rows = std::clamp<std::int64_t>(chunks_of(wanted, tasks.groups), 1, most_rows);
  return tasks;
}

}  // namespace

template <class T>
SplitPrecisionGemm<T>::SplitPrecisionGemm(const GemmShape& shape, const GemmLimits& limits,
                                          const Ops& ops)
    : shape_(shape), ops_(ops), panel_bytes_(ops.panel_bytes(shape.segments, shape.length)) {
  groups_ = std::max<std::int64_t>(chunks_of(shape_.panels(), kPair), 1);
  steps_ = chunks_of(shape_.depth(), kSplitStep);
  partition(limits);
  slots_ = std::min<std::int64_t>(limits.threads, shape_.matrices * tasks_.count());
  const std::int64_t tiles = chunks_of(rows_, kSplitRows);
  split_bytes_ = tiles * ops.tile_bytes(chunks_of(steps_, slices_));
  // Parts of A, sums, and of 16-bit types a tile of rows that are not yet rounded.
  const std::int64_t row_floats = pass_panels_ * kTileFloats;
  slot_floats_ = split_bytes_ / 4 + (tiles + (std::is_same_v<T, float> ? 0 : 1)) * row_floats;
}

template <class T>
void SplitPrecisionGemm<T>::partition(const GemmLimits& limits) {
  const std::int64_t depth = std::max<std::int64_t>(shape_.depth(), 1);
  const std::int64_t rows = std::max<std::int64_t>(shape_.rows, 1);
  const std::int64_t columns = std::max<std::int64_t>(shape_.columns, 1);
  const std::int64_t matrices = std::max<std::int64_t>(shape_.matrices, 1);
  const std::int64_t all = matrices * rows * columns * depth, threads = limits.threads;
  const std::int64_t each = task_operations(all, kSpeed * limits.task_operations, threads);
  const std::int64_t tasks =
      std::min(chunks_of(all, each), threads == 1 ? 1 : threads * kTasksPerThread);
  tasks_ = partition_area(rows, columns, groups_, chunks_of(tasks, matrices));
  // A slice may begin and end within a segment.
  const std::int64_t reached = (kGemmSegments - 2) * shape_.length / kSplitStep;
  const std::int64_t most = std::clamp<std::int64_t>(reached, 1, kSplitSlice<T>);
  slices_ = std::max<std::int64_t>(chunks_of(steps_, most), 1);
  const std::int64_t task_rows = chunks_of(chunks_of(rows, kSplitRows), tasks_.rows) * kSplitRows;
  rows_ = std::min(task_rows, kRowsTogether);
  const std::int64_t task_panels = chunks_of(groups_, tasks_.groups) * kPair;
  const std::int64_t pair_bytes = rows_ * kPair * kTilePanel * 4;
  pass_panels_ =
      std::clamp<std::int64_t>(limits.cache_bytes / pair_bytes * kPair, kPair, task_panels);
}

template <class T>
void SplitPrecisionGemm<T>::run(const Workers& workers, std::span<const TensorView> inputs, T* c,
                                const GemmOperands<T>& operands, const EpiloguePostOps& post_ops,
                                float* workspace) const noexcept {
  if (shape_.rows <= 0 || shape_.columns <= 0) return;
  const std::int64_t tasks = shape_.matrices * tasks_.count();
  std::atomic<std::int64_t> next{0};
  parallel_for(workers, std::min<std::int64_t>(slots_, workers.concurrency()),
               [&](std::int64_t slot) {
                 float* const memory = workspace + slot * slot_floats_;
                 Task task{inputs,
                           c,
                           operands,
                           post_ops,
                           reinterpret_cast<std::byte*>(memory),
                           memory + split_bytes_ / 4};
                 for (std::int64_t i = next.fetch_add(1); i < tasks && !workers.cancelled();
                      i = next.fetch_add(1))
                   run_task(task, i);
               });
}

template <class T>
void SplitPrecisionGemm<T>::run_task(Task& task, std::int64_t index) const noexcept {
  const GemmTasks::Part part = tasks_.part(index, shape_.rows, groups_, kSplitRows);
  task.matrix = part.matrix;
  task.operand = task.operands.matrix(task.matrix);
  const std::int64_t end = part.row + part.rows;
  const std::int64_t last_panel = std::min(part.last_group * kPair, shape_.panels());
  Block block;
  for (block.row = part.row; block.row < end; block.row += block.rows) {
    block.rows = std::min(end - block.row, rows_);
    for (block.first_panel = part.first_group * kPair; block.first_panel < last_panel;
         block.first_panel = block.last_panel) {
      block.last_panel = std::min(block.first_panel + pass_panels_, last_panel);
      run_block(task, block);
    }
  }
}

template <class T>
void SplitPrecisionGemm<T>::run_block(const Task& task, const Block& block) const noexcept {
  SplitProduct p;
  p.a = task.a;
  p.rows = block.rows;
  p.b_panel_bytes = panel_bytes_;
  p.c_panels = block.last_panel - block.first_panel;
  for (std::int64_t slice = 0; slice < slices_; ++slice) {
    split(task, block, slice);
    const std::int64_t first = slice_begin(slice), after = slice_begin(slice + 1);
    const std::byte* const b = task.operand.b + ops_.tile_bytes(first);
    p.steps = after - first;
    p.add = slice > 0;
    ops_.begin();
    for (std::int64_t panel = block.first_panel; panel < block.last_panel; panel += kPair) {
      p.b = b + panel * panel_bytes_;
      p.panels = std::min(kPair, block.last_panel - panel);
      p.c = task.sums + (panel - block.first_panel) * kTileFloats;
      // The next pair, in the end the first pair's next slice.
      const bool here = panel + kPair < block.last_panel;
      p.next = here ? p.b + kPair * panel_bytes_
                    : b + ops_.tile_bytes(p.steps) + block.first_panel * panel_bytes_;
      p.next_lines = here || slice + 1 < slices_ ? ops_.tile_bytes(p.steps) / kTileLine : 0;
      ops_.multiply(p);
    }
    ops_.end();
  }
  finish(task, block);
}

template <class T>
void SplitPrecisionGemm<T>::split(const Task& task, const Block& block,
                                  std::int64_t slice) const noexcept {
  const T* pointers[kGemmMaxRows * kGemmSegments];
  alignas(T) std::byte scratch[kGemmScratch * sizeof(T)];  // (an array of T would be set to zero)
  const std::int64_t length = std::max<std::int64_t>(shape_.length, 1);
  const std::int64_t begin = slice_begin(slice) * kSplitStep;
  const std::int64_t end = std::min(slice_begin(slice + 1) * kSplitStep, shape_.depth());
  const std::int64_t segment = begin / length;
  SplitRows<T> rows;
  rows.a = pointers;
  rows.length = length;
  rows.begin = begin - segment * length;
  rows.depth = end - begin;
  const std::int64_t tile = ops_.tile_bytes(slice_begin(slice + 1) - slice_begin(slice));
  for (std::int64_t row = 0; row < block.rows; row += kGemmMaxRows) {
    rows.rows = static_cast<int>(std::min<std::int64_t>(block.rows - row, kGemmMaxRows));
    rows.to = task.a + row / kSplitRows * tile;
    task.operands.point(
        {task.matrix, block.row + row, rows.rows, segment, chunks_of(end, length) - segment},
        pointers, reinterpret_cast<T*>(scratch));
    ops_.split(rows);
  }
}

template <class T>
void SplitPrecisionGemm<T>::finish(const Task& task, const Block& block) const noexcept {
  const std::int64_t column = block.first_panel * kTilePanel;
  const std::int64_t row_floats = (block.last_panel - block.first_panel) * kTileFloats;
  EpilogueRows<T> rows;
  rows.sums = task.sums;
  rows.row_stride = kTilePanel;
  rows.panel_stride = kTileFloats;
  rows.columns = std::min(block.last_panel * kTilePanel, shape_.columns) - column;
  rows.bias = task.operand.bias == nullptr ? nullptr : task.operand.bias + column;
  rows.c = task.c;
  rows.offset = task.operand.c_offset + block.row * shape_.c_row_stride + column;
  rows.c_row_stride = shape_.c_row_stride;
  rows.floats = task.sums + chunks_of(rows_, kSplitRows) * pass_panels_ * kTileFloats;
  rows.floats_stride = pass_panels_ * kTilePanel;
  for (std::int64_t row = 0; row < block.rows; row += kSplitRows) {
    rows.rows = static_cast<int>(std::min(block.rows - row, kSplitRows));
    apply_epilogue(rows, task.inputs, task.post_ops, ops_.store);
    rows.sums += row_floats;
    rows.offset += kSplitRows * shape_.c_row_stride;
  }
}

template class SplitPrecisionGemm<Half>;
template class SplitPrecisionGemm<BFloat16>;
template class SplitPrecisionGemm<float>;

}  // namespace softneuro
