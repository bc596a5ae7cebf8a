#include "cpu/gemm/half_gemm.h"

#include <algorithm>
#include <iterator>

#include "core/base/parallel.h"
#include "cpu/gemm/epilogue.h"

namespace softneuro {
namespace {

constexpr std::int64_t kTilePanels = std::size(kHalfTileRows);  // side by side, at most
constexpr std::int64_t kSumFloats = 8192;                       // on the stack

}  // namespace

// What a task needs at run time.
template <class T>
struct HalfGemm<T>::Task {
  std::span<const TensorView> inputs;
  T* c;  // the whole output
  const GemmOperands<T>& operands;
  const EpiloguePostOps& post_ops;
  std::int64_t matrix = 0;
  GemmMatrix operand = {};
};

template <class T>
HalfGemm<T>::HalfGemm(const GemmShape& shape, const GemmLimits& limits, const Ops& ops)
    : shape_(shape), ops_(ops), panel_bytes_(ops.panel_bytes(shape.segments, shape.length)) {
  const std::int64_t panels = std::max<std::int64_t>(shape_.panels(), 1);
  groups_ = chunks_of(panels, kTilePanels);
  const std::int64_t widest = chunks_of(panels, groups_);
  tile_rows_ = kHalfTileRows[widest - 1];
  const std::int64_t fit = kSumFloats / (tile_rows_ * widest * kTilePanel);
  const std::int64_t cached = limits.cache_bytes / std::max<std::int64_t>(panel_bytes_ * widest, 1);
  pass_groups_ = std::max<std::int64_t>(std::min(fit, cached), 1);
  const std::int64_t depth = std::max<std::int64_t>(shape_.depth(), 1);
  tasks_ =
      partition_gemm({shape_.matrices, shape_.rows, groups_, shape_.rows * shape_.columns * depth,
                      panel_bytes_ * shape_.panels(), tile_rows_},
                     limits);
}

template <class T>
void HalfGemm<T>::run(const Workers& workers, std::span<const TensorView> inputs, T* c,
                      const GemmOperands<T>& operands, const EpiloguePostOps& post_ops,
                      float*) const noexcept {
  if (shape_.rows <= 0 || shape_.columns <= 0) return;
  parallel_for(workers, shape_.matrices * tasks_.count(), [&](std::int64_t i) {
    Task task{inputs, c, operands, post_ops};
    run_task(task, i);
  });
}

template <class T>
void HalfGemm<T>::run_task(Task& task, std::int64_t index) const noexcept {
  const GemmTasks::Part part = tasks_.part(index, shape_.rows, groups_);
  task.matrix = part.matrix;
  task.operand = task.operands.matrix(task.matrix);
  const std::int64_t first_row = part.row, rows = part.rows;
  const std::int64_t tiles = chunks_of(rows, tile_rows_);
  const std::int64_t last_group = part.last_group;
  for (std::int64_t g = part.first_group; g < last_group; g += pass_groups_) {
    const Pass pass = pass_from(g, last_group);
    const Lines next = lines_after(task, index, pass, last_group);
    for (std::int64_t i = 0; i < tiles; ++i) {
      const std::int64_t from = rows * i / tiles, to = rows * (i + 1) / tiles;
      run_rows(task, first_row + from, static_cast<int>(to - from), pass, next.part(i, tiles));
    }
  }
}

template <class T>
typename HalfGemm<T>::Lines HalfGemm<T>::lines_of(const std::byte* b,
                                                  const Pass& pass) const noexcept {
  const std::int64_t first = panels_before(pass.first_group);
  return {b + first * panel_bytes_,
          (panels_before(pass.last_group) - first) * panel_bytes_ / kTileLine};
}

// What of B is multiplied after this pass: by this task, or by the next one, which this thread most
// likely takes.
template <class T>
typename HalfGemm<T>::Lines HalfGemm<T>::lines_after(const Task& task, std::int64_t index,
                                                     const Pass& pass,
                                                     std::int64_t last_group) const noexcept {
  if (pass.last_group < last_group)
    return lines_of(task.operand.b, pass_from(pass.last_group, last_group));
  if (index + 1 == shape_.matrices * tasks_.count()) return {};
  const GemmTasks::Part later = tasks_.part(index + 1, shape_.rows, groups_);
  return lines_of(task.operands.matrix(later.matrix).b,
                  pass_from(later.first_group, later.last_group));
}

// What a tile that begins with `panel` does with whole sums.
template <class T>
EpilogueStore<T> HalfGemm<T>::finish_of(const Task& task, std::int64_t row,
                                        std::int64_t panel) const noexcept {
  const std::int64_t column = panel * kTilePanel;
  const std::int64_t offset = task.operand.c_offset + row * shape_.c_row_stride + column;
  EpilogueStore<T> finish;
  finish.columns = shape_.columns - column;
  finish.bias = task.operand.bias == nullptr ? nullptr : task.operand.bias + column;
  finish.addend = task.post_ops.template addend<T>(task.inputs, offset);
  finish.clamp = task.post_ops.clamps();
  finish.low = task.post_ops.low();
  finish.high = task.post_ops.high();
  finish.y = task.c + offset;
  finish.y_stride = shape_.c_row_stride;
  return finish;
}

template <class T>
void HalfGemm<T>::run_rows(const Task& task, std::int64_t row, int rows, const Pass& pass,
                           const Lines& next) const noexcept {
  const T* pointers[kGemmMaxRows * kGemmSegments];
  alignas(T) std::byte scratch[kGemmScratch * sizeof(T)];  // (an array of T would be set to zero)
  alignas(64) float sums[kSumFloats];
  const std::int64_t first_panel = panels_before(pass.first_group);
  const std::int64_t last_panel = panels_before(pass.last_group);
  const std::int64_t groups = pass.last_group - pass.first_group;
  const std::int64_t tiles = chunks_of(shape_.segments, kGemmSegments) * groups;
  const bool tiles_finish =
      Ops::kFinishes && shape_.segments <= kGemmSegments && task.post_ops.rest().empty();
  EpilogueStore<T> finish;
  std::int64_t done_tiles = 0;
  HalfTile<T> tile;
  tile.a = pointers;
  tile.rows = rows;
  tile.length = shape_.length;
  tile.b_panel_bytes = panel_bytes_;
  tile.c_row_stride = (last_panel - first_panel) * kTilePanel;
  for (std::int64_t s = 0; s < shape_.segments; s += kGemmSegments) {
    tile.segments = std::min(kGemmSegments, shape_.segments - s);
    tile.add = s > 0;
    task.operands.point({task.matrix, row, rows, s, tile.segments}, pointers,
                        reinterpret_cast<T*>(scratch));
    const std::byte* const b = task.operand.b + ops_.panel_bytes(s, shape_.length);
    for (std::int64_t g = pass.first_group; g < pass.last_group; ++g) {
      const std::int64_t panel = panels_before(g);
      tile.panels = panels_before(g + 1) - panel;
      tile.b = b + panel * panel_bytes_;
      tile.c = sums + (panel - first_panel) * kTilePanel;
      if (tiles_finish) {
        finish = finish_of(task, row, panel);
        tile.finish = &finish;
      }
      const Lines prefetched = next.part(done_tiles++, tiles);
      tile.next = prefetched.begin;
      tile.next_lines = prefetched.count;
      ops_.multiply(tile);
    }
  }
  if (tiles_finish) return;
  const std::int64_t column = first_panel * kTilePanel;
  EpilogueRows<T> done;
  done.sums = sums;
  done.row_stride = tile.c_row_stride;
  done.panel_stride = kTilePanel;
  done.floats = sums;
  done.floats_stride = tile.c_row_stride;
  done.rows = rows;
  done.columns = std::min(last_panel * kTilePanel, shape_.columns) - column;
  done.bias = task.operand.bias == nullptr ? nullptr : task.operand.bias + column;
  done.c = task.c;
  done.offset = task.operand.c_offset + row * shape_.c_row_stride + column;
  done.c_row_stride = shape_.c_row_stride;
  apply_epilogue(done, task.inputs, task.post_ops, ops_.store);
}

template class HalfGemm<Half>;
template class HalfGemm<BFloat16>;

}  // namespace softneuro
