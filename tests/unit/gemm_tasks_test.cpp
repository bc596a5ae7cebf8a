// How products are partitioned into tasks: enough for the threads of the plan, and each part once.
#include "cpu/gemm/gemm_tasks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <utility>

using namespace softneuro;

namespace {

constexpr std::int64_t kMost = 1 << 20;

// A product as wide and deep, in groups of 32 columns and tiles of 6 rows.
GemmExtent extent_of(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  return {1, rows, chunks_of(columns, 32), rows * columns * depth, columns * depth * 4, 6};
}

GemmTasks tasks_of(const GemmExtent& extent, int threads) {
  GemmLimits limits;
  limits.task_operations = kMost;
  limits.threads = threads;
  return partition_gemm(extent, limits);
}

}  // namespace

TEST_CASE("gemm tasks: one thread has the largest, more have four each, none below a sixteenth") {
  CHECK(task_operations(10 * kMost, kMost, 1) == kMost);
  CHECK(task_operations(kMost, kMost, 2) == kMost / 8);
  CHECK(task_operations(kMost, kMost, 16) == kMost / 16);
  CHECK(task_operations(1000 * kMost, kMost, 16) == kMost);
  CHECK(task_operations(0, kMost, 16) == kMost / 16);
  CHECK(task_operations(100, 1, 16) == 1);
}

TEST_CASE("gemm tasks: a layer of five million multiply-adds keeps 8, 16 and 32 threads busy") {
  for (const GemmExtent& extent : {extent_of(784, 144, 48), extent_of(196, 192, 144),
                                   extent_of(49, 320, 320), extent_of(1, 2304, 2304)})
    for (const int threads : {2, 8, 16, 32}) {
      CAPTURE(extent.rows, extent.groups, threads);
      const std::int64_t count = tasks_of(extent, threads).count();
      // Of a large B a task reads whole groups: there are ten of 320 columns.
      CHECK(count >= std::min<std::int64_t>(2 * threads, extent.rows == 49 ? extent.groups : 64));
      CHECK(count * (kMost / 16) <= 2 * extent.operations);
    }
  CHECK(tasks_of(extent_of(196, 192, 144), 1).count() == 6);
}

TEST_CASE("gemm tasks: every row of every group belongs to one task, for any number of threads") {
  for (const std::int64_t rows : {1, 5, 49, 197})
    for (const std::int64_t columns : {24, 320, 3072})
      for (const int threads : {1, 2, 5, 16, 64}) {
        const GemmExtent extent = extent_of(rows, columns, 384);
        const GemmTasks tasks = tasks_of(extent, threads);
        CAPTURE(rows, columns, threads, tasks.count());
        std::set<std::pair<std::int64_t, std::int64_t>> seen;
        for (std::int64_t i = 0; i < tasks.count(); ++i) {
          const GemmTasks::Part part = tasks.part(i, rows, extent.groups);
          CHECK(part.matrix == 0);
          for (std::int64_t r = part.row; r < part.row + part.rows; ++r)
            for (std::int64_t g = part.first_group; g < part.last_group; ++g)
              REQUIRE(seen.emplace(r, g).second);
        }
        CHECK(seen.size() == static_cast<std::size_t>(rows * extent.groups));
      }
}
