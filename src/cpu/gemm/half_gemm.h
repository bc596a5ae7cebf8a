// C[rows, columns] = A · B of 16-bit numbers by HalfTileOps, for one or several independent
// products, partitioned into tasks and blocked for the cache as BlockedGemm is. Sums stay in
// registers, or on the stack, until they are rounded: nothing of float32 goes through memory.
#pragma once

#include <algorithm>
#include <type_traits>

#include "cpu/gemm/epilogue_post_ops.h"
#include "cpu/gemm/gemm_operands.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/gemm/half_tile.h"

namespace softneuro {

// T: of A, B and C, Half (sums in float16) or BFloat16 (sums in float32). Immutable. The partition
// depends on shape and limits only.
template <class T>
class HalfGemm {
 public:
  using Number = T;   // of x and y
  using Operand = T;  // of A and C
  using Ops = HalfTileOps<T>;
  static constexpr int kVersion = std::is_same_v<T, Half> ? 1 : 2;  // RoutineFacts::version
  static constexpr DataType kAccumulator =                          // RoutineFacts::accumulator
      std::is_same_v<T, Half> ? DataType::float16 : DataType::float32;
  // Of a weight, in the parameters: a task reads its weights again and again.
  static constexpr std::int64_t kReusedBytes = sizeof(T);

  // rows, columns and depth are positive or the result is never run.
  HalfGemm(const GemmShape& shape, const GemmLimits& limits, const Ops& ops);

  std::int64_t workspace_floats() const noexcept { return 0; }

  // c: memory of the layer's whole output; inputs: those of the layer, for post-ops.
  void run(const Workers& workers, std::span<const TensorView> inputs, T* c,
           const GemmOperands<T>& operands, const EpiloguePostOps& post_ops,
           float* workspace) const noexcept;

 private:
  struct Task;
  // First panel of group `group`.
  std::int64_t panels_before(std::int64_t group) const noexcept {
    return shape_.panels() * group / groups_;
  }
  // Groups of panels that go through the cache together.
  struct Pass {
    std::int64_t first_group, last_group;
  };
  // B's cache lines that are prefetched while others are multiplied: `count` from `begin` on.
  struct Lines {
    const std::byte* begin = nullptr;
    std::int64_t count = 0;
    Lines part(std::int64_t index, std::int64_t parts) const noexcept {
      const std::int64_t first = count * index / parts;
      return {begin + first * kTileLine, count * (index + 1) / parts - first};
    }
  };
  Pass pass_from(std::int64_t group, std::int64_t last_group) const noexcept {
    return {group, std::min(group + pass_groups_, last_group)};
  }
  Lines lines_of(const std::byte* b, const Pass& pass) const noexcept;
  Lines lines_after(const Task& task, std::int64_t index, const Pass& pass,
                    std::int64_t last_group) const noexcept;
  void run_task(Task& task, std::int64_t index) const noexcept;
  EpilogueStore<T> finish_of(const Task& task, std::int64_t row, std::int64_t panel) const noexcept;
  void run_rows(const Task& task, std::int64_t row, int rows, const Pass& pass,
                const Lines& next) const noexcept;

  GemmShape shape_;
  Ops ops_;
  std::int64_t panel_bytes_ = 0;
  std::int64_t groups_ = 1;       // of panels that make a tile
  std::int64_t pass_groups_ = 1;  // that stay in the cache together
  int tile_rows_ = 1;             // at most
  GemmTasks tasks_;               // tasks of one matrix
};

}  // namespace softneuro
