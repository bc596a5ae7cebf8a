#include "cpu/gemm/gemm_tasks.h"

#include <algorithm>

namespace softneuro {
namespace {

constexpr std::int64_t kRowsOfLargeB = 96;
constexpr std::int64_t kMostTasks = 512;
// The smallest task is this part of the largest. Of a million multiply-adds, which take some 20 µs,
// that is about 1 µs, several times what handing it out takes.
constexpr std::int64_t kLargestToSmallest = 16;

}  // namespace

std::int64_t task_operations(std::int64_t all, std::int64_t most, std::int64_t threads) noexcept {
  if (threads <= 1) return most;
  return std::clamp(all / (threads * kTasksPerThread),
                    std::max<std::int64_t>(most / kLargestToSmallest, 1), most);
}

// Every task reads its rows of A and its columns of B, so the larger of the two is partitioned.
GemmTasks partition_gemm(const GemmExtent& extent, const GemmLimits& limits) noexcept {
  const std::int64_t operations =
      task_operations(extent.matrices * extent.operations, limits.task_operations, limits.threads);
  const std::int64_t wanted =
      std::clamp<std::int64_t>(chunks_of(extent.operations, operations), 1, kMostTasks);
  // A task that reads much of B does so for many rows.
  const bool large = extent.b_bytes > limits.cache_bytes;
  const std::int64_t least_rows = large ? kRowsOfLargeB : extent.tile_rows;
  const std::int64_t most_tasks = std::max<std::int64_t>(extent.rows / least_rows, 1);
  GemmTasks tasks;
  tasks.groups = large ? std::min(extent.groups, wanted) : 1;
  tasks.rows = std::min(most_tasks, chunks_of(wanted, tasks.groups));
  if (large && extent.matrices * tasks.groups >= limits.threads * kTasksPerThread)
    tasks.rows = 1;  // B is read once
  tasks.groups = std::min(extent.groups, chunks_of(wanted, tasks.rows));
  return tasks;
}

}  // namespace softneuro
