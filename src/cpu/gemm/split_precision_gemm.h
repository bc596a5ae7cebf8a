// Products by SplitTileOps, partitioned into tasks. A task goes through the depth in slices: its
// rows of A are split for a slice, then multiplied with one pair of panels after the other, whose
// numbers are read once. Sums wait for the next slice in the workspace, where tiles are whole and
// nothing falls into the same lines of the cache as in C, whose rows are often powers of two apart.
#pragma once

#include "cpu/gemm/epilogue_post_ops.h"
#include "cpu/gemm/gemm_operands.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/gemm/split_tile.h"

namespace softneuro {

// T: of A and C, Half, BFloat16 or float. Immutable. In which order an element is summed depends on
// the shape only.
template <class T>
class SplitPrecisionGemm {
 public:
  using Number = T;   // of x and y
  using Operand = T;  // of A and C
  using Ops = SplitTileOps<T>;
  static constexpr int kVersion = 2;                           // RoutineFacts::version
  static constexpr DataType kAccumulator = DataType::float32;  // RoutineFacts::accumulator
  static constexpr std::int64_t kReusedBytes = 0;  // of a weight: read once for a block of rows

  // limits.cache_bytes: sums that wait together.
  SplitPrecisionGemm(const GemmShape& shape, const GemmLimits& limits, const Ops& ops);

  // Floats of workspace that run() needs.
  std::int64_t workspace_floats() const noexcept { return slots_ * slot_floats_; }
  // c: memory of the layer's whole output; inputs: those of the layer, for post-ops.
  void run(const Workers& workers, std::span<const TensorView> inputs, T* c,
           const GemmOperands<T>& operands, const EpiloguePostOps& post_ops,
           float* workspace) const noexcept;

 private:
  // What a task needs at run time.
  struct Task {
    std::span<const TensorView> inputs;
    T* c;
    const GemmOperands<T>& operands;
    const EpiloguePostOps& post_ops;
    std::byte* a = nullptr;  // the slot's: split rows
    float* sums = nullptr;   // and sums, tile by tile
    std::int64_t matrix = 0;
    GemmMatrix operand = {};
  };
  // Rows and panels whose sums wait together.
  struct Block {
    std::int64_t row = 0, rows = 0;
    std::int64_t first_panel = 0, last_panel = 0;
  };

  void partition(const GemmLimits& limits);
  std::int64_t slice_begin(std::int64_t slice) const noexcept { return steps_ * slice / slices_; }
  void run_task(Task& task, std::int64_t index) const noexcept;
  void run_block(const Task& task, const Block& block) const noexcept;
  void split(const Task& task, const Block& block, std::int64_t slice) const noexcept;
  void finish(const Task& task, const Block& block) const noexcept;

  GemmShape shape_;
  Ops ops_;
  std::int64_t panel_bytes_ = 0;
  std::int64_t groups_ = 1;                  // pairs of panels
  std::int64_t steps_ = 0, slices_ = 1;      // of the depth
  GemmTasks tasks_;                          // tasks of one matrix
  std::int64_t rows_ = 0, pass_panels_ = 0;  // the most of a block
  std::int64_t slots_ = 0, split_bytes_ = 0, slot_floats_ = 0;
};

}  // namespace softneuro
