#include "core/gemm/half_sweep.h"

#include <algorithm>

#include "core/float_span.h"
#include "core/parallel.h"

namespace softneuro {
namespace {

constexpr std::int64_t kEnoughPieces = 8;  // to keep threads busy without cutting rows, too
constexpr std::int64_t kSumFloats = 8192;  // on the stack

}  // namespace

// What a task needs at run time.
struct HalfSweep::Task {
  std::span<const TensorView> inputs;
  Half* c;  // the whole output
  const HalfSweepOperands& operands;
  const TilePostOps& post_ops;
  std::int64_t matrix = 0;
  HalfSweepOperands::Matrix operand = {};
};

HalfSweep::HalfSweep(const HalfSweepShape& shape, const SweepLimits& limits, const HalfTileOps& ops)
    : shape_(shape), ops_(&ops), panel_bytes_(ops.panel_bytes(shape.segments, shape.length)) {
  const std::int64_t panels = std::max<std::int64_t>(shape_.panels(), 1);
  // A wide tile reads A once, a narrow one keeps its part of B in the cache.
  const std::int64_t cached_panels = limits.cache_bytes / std::max<std::int64_t>(panel_bytes_, 1);
  groups_ = pieces_of(panels, std::clamp<std::int64_t>(cached_panels, 4, ops.max_panels));
  const std::int64_t widest = pieces_of(panels, groups_);
  tile_rows_ = ops.rows_of(widest);
  const std::int64_t fit = kSumFloats / (tile_rows_ * widest * kHalfPanel);
  const std::int64_t cached = limits.cache_bytes / std::max<std::int64_t>(panel_bytes_ * widest, 1);
  pass_groups_ = std::max<std::int64_t>(std::min(fit, cached), 1);
  const std::int64_t depth = std::max<std::int64_t>(shape_.depth(), 1);
  pieces_ = cut_sweep({shape_.rows, groups_, shape_.rows * shape_.columns * depth,
                       panel_bytes_ * shape_.panels(), tile_rows_, kEnoughPieces},
                      limits);
}

std::int64_t HalfSweep::packed_bytes(const HalfSweepShape& shape, const HalfTileOps& ops) noexcept {
  return shape.panels() * ops.panel_bytes(shape.segments, shape.length);
}

void HalfSweep::run(ThreadPool& pool, std::span<const TensorView> inputs, Half* c,
                    const HalfSweepOperands& operands, const TilePostOps& post_ops) const noexcept {
  if (shape_.rows <= 0 || shape_.columns <= 0) return;
  parallel_for(pool, shape_.matrices * pieces_.count(), [&](std::int64_t i) {
    Task task{inputs, c, operands, post_ops};
    run_task(task, i);
  });
}

void HalfSweep::run_task(Task& task, std::int64_t index) const noexcept {
  const SweepPieces::Part part = pieces_.part(index, shape_.rows, groups_);
  task.matrix = part.matrix;
  task.operand = task.operands.matrix(task.matrix);
  const std::int64_t first_row = part.row, rows = part.rows;
  const std::int64_t tiles = pieces_of(rows, tile_rows_);
  const std::int64_t last_group = part.last_group;
  for (std::int64_t g = part.first_group; g < last_group; g += pass_groups_)
    for (std::int64_t i = 0; i < tiles; ++i) {
      const std::int64_t from = rows * i / tiles, to = rows * (i + 1) / tiles;
      run_rows(task, first_row + from, static_cast<int>(to - from), g,
               std::min(g + pass_groups_, last_group));
    }
}

void HalfSweep::run_rows(const Task& task, std::int64_t row, int rows, std::int64_t first_group,
                         std::int64_t last_group) const noexcept {
  const Half* pointers[kHalfMaxRows * kHalfSegments];
  std::byte scratch[kHalfScratch * sizeof(Half)];  // (an array of Half would be set to zero)
  alignas(64) float sums[kSumFloats];
  const std::int64_t first_panel = panels_before(first_group);
  const std::int64_t last_panel = panels_before(last_group);
  HalfTile tile;
  tile.a = pointers;
  tile.rows = rows;
  tile.length = shape_.length;
  tile.b_panel_bytes = panel_bytes_;
  tile.c_row_stride = (last_panel - first_panel) * kHalfPanel;
  for (std::int64_t s = 0; s < shape_.segments; s += kHalfSegments) {
    tile.segments = std::min(kHalfSegments, shape_.segments - s);
    tile.add = s > 0;
    task.operands.point({task.matrix, row, rows, s, tile.segments}, pointers,
                        reinterpret_cast<Half*>(scratch));
    const std::byte* const b = task.operand.b + ops_->panel_bytes(s, shape_.length);
    for (std::int64_t g = first_group; g < last_group; ++g) {
      const std::int64_t panel = panels_before(g);
      tile.panels = panels_before(g + 1) - panel;
      tile.b = b + panel * panel_bytes_;
      tile.c = sums + (panel - first_panel) * kHalfPanel;
      ops_->multiply(tile);
    }
  }
  const std::int64_t column = first_panel * kHalfPanel;
  finish(task, row, rows, column, std::min(last_panel * kHalfPanel, shape_.columns) - column, sums,
         tile.c_row_stride);
}

// Bias, post-ops and rounding, on sums that are in the cache.
void HalfSweep::finish(const Task& task, std::int64_t row, int rows, std::int64_t column,
                       std::int64_t columns, float* sums, std::int64_t stride) const noexcept {
  const std::int64_t offset = task.operand.c_offset + row * shape_.c_row_stride + column;
  const TilePostOps& ops = task.post_ops;
  HalfStore store;
  store.sums = sums;
  store.sums_stride = stride;
  store.rows = rows;
  store.columns = columns;
  store.bias = task.operand.bias == nullptr ? nullptr : task.operand.bias + column;
  store.addend = ops.half_addend(task.inputs, offset);
  store.clamp = ops.clamps();
  store.low = ops.low();
  store.high = ops.high();
  store.y = task.c + offset;
  store.y_stride = shape_.c_row_stride;
  if (ops.rest().empty()) return ops_->store(store);
  store.floats = sums;
  ops_->store(store);
  const auto apply = [&](float* results, std::int64_t at, std::int64_t count) {
    ops.rest().apply(task.inputs, results, at, count);
    float_spans().store(DataType::float16, results, task.c + at, count);
  };
  if (columns == shape_.c_row_stride) {  // whole rows, one behind the other
    for (int r = 1; stride > columns && r < rows; ++r)
      std::copy_n(sums + r * stride, columns, sums + r * columns);  // to the front
    return apply(sums, offset, rows * columns);
  }
  for (int r = 0; r < rows; ++r)
    apply(sums + r * stride, offset + r * shape_.c_row_stride, columns);
}

}  // namespace softneuro
