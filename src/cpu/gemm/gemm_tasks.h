// How C = A · B is partitioned into tasks, for BlockedGemm, HalfGemm and SplitPrecisionGemm.
#pragma once

#include <algorithm>
#include <cstdint>

namespace softneuro {

// How the work is partitioned; a profiler may try values of the first two.
struct GemmLimits {
  std::int64_t cache_bytes = 512 * 1024;       // of B, or of sums, that a task works on at a time
  std::int64_t task_operations = 1024 * 1024;  // multiply-adds of a task, at most, about
  int threads = 1;                             // that run it, at most
};

// Products of one shape. Their rows are partitioned, and the groups of columns that tiles are made
// of.
struct GemmExtent {
  std::int64_t matrices, rows, groups;
  std::int64_t operations;  // multiply-adds of one
  std::int64_t b_bytes;
  std::int64_t tile_rows;  // the most of a tile
};

// Tasks of one product, counted group by group, row by row, then product by product.
struct GemmTasks {
  std::int64_t rows = 0, groups = 0;

  struct Part {
    std::int64_t matrix, row, rows, first_group, last_group;
  };
  std::int64_t count() const noexcept { return rows * groups; }
  // Of task `task`, where a product has so many rows and groups; the rows of all but the last part
  // are multiples of row_step.
  Part part(std::int64_t task, std::int64_t all_rows, std::int64_t all_groups,
            std::int64_t row_step = 1) const noexcept {
    const std::int64_t group = task % groups, row = task / groups % rows;
    const auto begin_of = [&](std::int64_t part) {
      return std::min(all_rows, (all_rows + row_step - 1) / row_step * part / rows * row_step);
    };
    const std::int64_t first = begin_of(row);
    return {task / groups / rows, first, begin_of(row + 1) - first, all_groups * group / groups,
            all_groups * (group + 1) / groups};
  }
};

// Enough to share the work evenly where threads are not equally fast.
inline constexpr std::int64_t kTasksPerThread = 4;

// Multiply-adds of a task, of `all`: `most` for one thread; for more so few that each has
// kTasksPerThread, within [most / 16, most].
std::int64_t task_operations(std::int64_t all, std::int64_t most, std::int64_t threads) noexcept;

// In which order an element is summed does not depend on the partition.
GemmTasks partition_gemm(const GemmExtent& extent, const GemmLimits& limits) noexcept;

constexpr std::int64_t chunks_of(std::int64_t count, std::int64_t size) noexcept {
  return (count + size - 1) / size;
}

}  // namespace softneuro
