#include "cpu/gemm/blocked_gemm.h"

#include <algorithm>

#include "core/base/parallel.h"

namespace softneuro {
namespace {

constexpr std::int64_t kLargeOutput = 1024 * 1024;  // bytes

}  // namespace

// What a task needs at run time.
struct BlockedGemm::Task {
  Workers workers;
  std::span<const TensorView> inputs;
  float* c;  // the whole output
  const GemmOperands<float>& operands;
  const EpiloguePostOps& ops;
  std::int64_t matrix = 0;
  GemmMatrix operand = {};
  std::int64_t row = 0, rows = 0, first_group = 0, last_group = 0;
};

BlockedGemm::BlockedGemm(const GemmShape& shape, const GemmLimits& limits,
                         const MicroKernels& kernels)
    : shape_(shape), kernels_(&kernels) {
  if (shape_.b_panel_stride == 0) shape_.b_panel_stride = shape_.depth() * kTilePanel;
  groups_.vectors = chunks_of(shape_.stored_columns(), kernels.lanes);
  groups_.unit_vectors = std::min<std::int64_t>(kernels.max_vectors, kTilePanel / kernels.lanes);
  vectors_of_line_ = static_cast<std::size_t>(std::max<std::int64_t>(
      kTileLine / (kernels.lanes * static_cast<std::int64_t>(sizeof(float))), 1));
  const std::int64_t units = chunks_of(groups_.vectors, groups_.unit_vectors);
  groups_.count =
      std::max<std::int64_t>(chunks_of(units, kernels.max_vectors / groups_.unit_vectors), 1);
  groups_.units = units / groups_.count;
  groups_.wider = units % groups_.count;
  large_output_ = shape_.matrices * shape_.rows * shape_.stored_columns() * 4 > kLargeOutput;
  const std::int64_t depth = std::max<std::int64_t>(shape_.depth(), 1);
  tasks_ = partition_gemm(
      {shape_.matrices, shape_.rows, groups_.count, shape_.rows * shape_.columns * depth,
       depth * shape_.columns * 4, kernels.max_rows[0]},
      limits);
  choose_blocks(limits);
}

void BlockedGemm::choose_blocks(const GemmLimits& limits) {
  const std::int64_t length = std::max<std::int64_t>(shape_.length, 1);
  const std::int64_t group_bytes = kernels_->max_vectors * kernels_->lanes * 4;
  const std::int64_t deepest = std::max<std::int64_t>(limits.cache_bytes / group_bytes, 64);
  block_groups_ = std::max<std::int64_t>(deepest / std::max<std::int64_t>(shape_.depth(), 1), 1);
  block_segments_ = std::min(kGemmSegments, shape_.segments);
  segment_parts_ = 1;
  if (shape_.depth() > deepest) {
    block_segments_ = std::clamp<std::int64_t>(deepest / length, 1, block_segments_);
    segment_parts_ = chunks_of(length, deepest);
  }
  depth_blocks_ = chunks_of(shape_.segments, block_segments_) * segment_parts_;
}

BlockedGemm::DepthBlock BlockedGemm::depth_block(std::int64_t index) const noexcept {
  const std::int64_t segment = index / segment_parts_ * block_segments_;
  const std::int64_t part = index % segment_parts_;
  const std::int64_t begin = shape_.length * part / segment_parts_;
  const std::int64_t end = shape_.length * (part + 1) / segment_parts_;
  return {segment, std::min(block_segments_, shape_.segments - segment), begin, end - begin};
}

int BlockedGemm::Groups::widest(std::int64_t first, std::int64_t last) const noexcept {
  std::int64_t widest = 1;
  for (std::int64_t g = first; g < last; ++g)
    widest = std::max(widest, vectors_before(g + 1) - vectors_before(g));
  return static_cast<int>(widest);
}

void BlockedGemm::run(const Workers& workers, std::span<const TensorView> inputs, float* c,
                      const GemmOperands<float>& operands, const EpiloguePostOps& ops,
                      float*) const noexcept {
  if (shape_.rows <= 0 || shape_.columns <= 0) return;
  const Task task{workers, inputs, c, operands, ops};
  parallel_for(workers, tasks(), [&](std::int64_t i) { run_task(task, i); });
}

void BlockedGemm::begin_task(Task& task, std::int64_t index) const noexcept {
  const GemmTasks::Part part = tasks_.part(index, shape_.rows, groups_.count);
  task.matrix = part.matrix;
  task.operand = task.operands.matrix(task.matrix);
  task.row = part.row;
  task.rows = part.rows;
  task.first_group = part.first_group;
  task.last_group = part.last_group;
}

// While a block of B is multiplied, the next one is prefetched: that of the task, or at its end
// that of the next task, which this thread most likely takes, since the pool's threads have runs of
// tasks.
void BlockedGemm::run_task(const Task& shared, std::int64_t index) const noexcept {
  Task task = shared;
  begin_task(task, index);
  Block block{task.first_group, std::min(task.first_group + block_groups_, task.last_group), 0};
  for (bool more = true; more && !task.workers.cancelled();) {
    Block next = block;
    more = advance(task, next);
    Prefetch prefetch;
    if (more) {
      prefetch = prefetch_of(task, next);
    } else if (index + 1 < tasks()) {
      Task later = shared;
      begin_task(later, index + 1);
      prefetch = prefetch_of(
          later,
          {later.first_group, std::min(later.first_group + block_groups_, later.last_group), 0});
    }
    run_block(task, block, prefetch);
    block = next;
  }
}

// To the task's next block; false: there is none.
bool BlockedGemm::advance(const Task& task, Block& block) const noexcept {
  if (++block.depth < depth_blocks_) return true;
  block = {block.last_group, std::min(block.last_group + block_groups_, task.last_group), 0};
  return block.first_group < task.last_group;
}

// Where column `column` of B begins, at that depth.
const std::byte* BlockedGemm::weights(const Task& task, std::int64_t column,
                                      std::int64_t depth) const noexcept {
  const std::int64_t offset = column / kTilePanel * shape_.b_panel_stride +
                              depth * shape_.b_row_stride + column % kTilePanel;
  return task.operand.b + offset * weight_bytes();
}

BlockedGemm::Prefetch BlockedGemm::prefetch_of(const Task& task,
                                               const Block& block) const noexcept {
  if (shape_.b_row_stride != kTilePanel) return {};  // not packed
  const DepthBlock depth = depth_block(block.depth);
  const std::int64_t first = groups_.vectors_before(block.first_group) * kernels_->lanes;
  const std::int64_t last = groups_.vectors_before(block.last_group) * kernels_->lanes;
  const std::int64_t bytes = depth.segments * depth.length * shape_.b_row_stride * weight_bytes();
  return {weights(task, first, depth.segment * shape_.length + depth.offset),
          shape_.b_panel_stride * weight_bytes(), chunks_of(bytes, kTileLine),
          chunks_of(last - first, kTilePanel)};
}

BlockedGemm::Prefetch::Prefetch(const std::byte* first, std::int64_t panel_bytes,
                                std::int64_t lines_of_panel, std::int64_t panels) noexcept
    : panel_(first), panel_bytes_(panel_bytes), lines_of_panel_(lines_of_panel), panels_(panels) {}

// One line in each `every_` steps, a power of two. So up to twice as many are prefetched, in the
// order of memory: those behind a panel's end are the next one's, or of no use.
void BlockedGemm::Prefetch::begin(std::int64_t tiles, std::int64_t steps) noexcept {
  const std::int64_t lines = panels_ * lines_of_panel_;
  if (lines == 0) return;
  lines_of_tile_ = chunks_of(lines, tiles);
  every_ = 1;
  while (lines_of_tile_ * every_ * 2 <= steps) every_ *= 2;
}

void BlockedGemm::Prefetch::give(MicroTile& tile) noexcept {
  if (panels_ == 0) {
    tile.next_every = kTileNever;
    tile.next = tile.b;  // one line per segment, which is there
    return;
  }
  tile.next_every = every_;
  tile.next = panel_ + line_ * kTileLine;
  for (line_ += lines_of_tile_; panels_ > 0 && line_ >= lines_of_panel_; --panels_) {
    line_ -= lines_of_panel_;
    panel_ += panel_bytes_;
  }
}

void BlockedGemm::run_block(const Task& task, const Block& block, Prefetch& next) const noexcept {
  const int widest = groups_.widest(block.first_group, block.last_group);
  const std::int64_t tiles = chunks_of(task.rows, kernels_->max_rows[widest - 1]);
  const DepthBlock depth = depth_block(block.depth);
  next.begin(tiles * (block.last_group - block.first_group), depth.segments * depth.length);
  for (std::int64_t i = 0; i < tiles; ++i) {
    const std::int64_t from = task.rows * i / tiles, to = task.rows * (i + 1) / tiles;
    run_rows(task, task.row + from, static_cast<int>(to - from), block, next);
  }
}

void BlockedGemm::run_rows(const Task& task, std::int64_t row, int rows, const Block& block,
                           Prefetch& next) const noexcept {
  const float* pointers[kTileMaxRows * kGemmSegments];
  float scratch[kGemmScratchFloats];
  const DepthBlock depth = depth_block(block.depth);
  task.operands.point({task.matrix, row, rows, depth.segment, depth.segments}, pointers, scratch);
  const bool first = block.depth == 0, last = block.depth == depth_blocks_ - 1;
  const std::int64_t first_depth = depth.segment * shape_.length + depth.offset;
  MicroTile tile;
  tile.a = pointers;
  tile.segments = depth.segments;
  tile.offset = depth.offset;
  tile.length = depth.length;
  tile.b_row_stride = shape_.b_row_stride;
  tile.b_panel_stride = shape_.b_panel_stride;
  tile.c_row_stride = shape_.c_row_stride;
  tile.clamp = last && task.ops.clamps();
  tile.low = task.ops.low();
  tile.high = task.ops.high();
  const int lanes = kernels_->lanes;
  const auto& functions = shape_.half_weights ? kernels_->multiply_half : kernels_->multiply;
  std::int64_t end_vector = groups_.vectors_before(block.first_group);
  for (std::int64_t g = block.first_group; g < block.last_group; ++g) {
    const std::int64_t column = end_vector * lanes;
    const auto vectors = static_cast<std::size_t>(groups_.vectors_before(g + 1) - end_vector);
    end_vector += static_cast<std::int64_t>(vectors);
    const std::int64_t offset =
        task.operand.c_offset + row * shape_.c_row_stride + shape_.column_offset(column);
    tile.b = weights(task, column, first_depth);
    tile.c = task.c + offset;
    for (std::size_t v = 0; v < vectors; ++v)
      tile.c_offsets[v] = shape_.column_offset(column + static_cast<std::int64_t>(v) * lanes) -
                          shape_.column_offset(column);
    tile.last_lanes =
        std::min<std::int64_t>(shape_.stored_columns() - (end_vector - 1) * lanes, lanes);
    tile.bias = first && task.operand.bias != nullptr ? task.operand.bias + column : nullptr;
    tile.addend = first ? task.ops.addend(task.inputs, offset) : tile.c;
    next.give(tile);
    if (large_output_ && first)
      prefetch_output(tile, rows, std::min<std::int64_t>(rows, task.row + task.rows - row - rows),
                      vectors);
    functions[vectors - 1][rows - 1](tile);
  }
  if (last && !task.ops.rest().empty())
    finish(task, row, rows, block.first_group, block.last_group);
}

// Calls what the same columns' next tile writes, so that its stores do not wait for lines that come
// from far away: the processor does not see where a tile goes on.
void BlockedGemm::prefetch_output(const MicroTile& tile, std::int64_t rows_before,
                                  std::int64_t rows, std::size_t vectors) const noexcept {
  const float* row = tile.c + rows_before * shape_.c_row_stride;
  const std::size_t step = shape_.c_block == 0 ? vectors_of_line_ : 1;
  for (std::int64_t r = 0; r < rows; ++r, row += shape_.c_row_stride)
    for (std::size_t v = 0; v < vectors; v += step) __builtin_prefetch(row + tile.c_offsets[v], 1);
}

// The other post-ops, on what is still in the cache.
void BlockedGemm::finish(const Task& task, std::int64_t row, int rows, std::int64_t first_group,
                         std::int64_t last_group) const noexcept {
  const std::int64_t column = groups_.vectors_before(first_group) * kernels_->lanes;
  const std::int64_t end =
      std::min(groups_.vectors_before(last_group) * kernels_->lanes, shape_.stored_columns());
  const std::int64_t begin = task.operand.c_offset + row * shape_.c_row_stride;
  const auto apply = [&](std::int64_t offset, std::int64_t count) {
    task.ops.rest().apply(task.inputs, task.c + offset, offset, count);
  };
  for (std::int64_t j = column, count; j < end; j += count) {
    count = end - j;
    // Groups of narrow vectors may begin and end within a block of C.
    if (shape_.c_block > 0) count = std::min(count, shape_.c_block - j % shape_.c_block);
    const std::int64_t at = begin + shape_.column_offset(j);
    if (count == shape_.c_row_stride) {
      apply(at, rows * count);
    } else {
      for (int r = 0; r < rows; ++r) apply(at + r * shape_.c_row_stride, count);
    }
  }
}

}  // namespace softneuro
