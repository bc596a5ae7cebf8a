// C[rows, columns] = A · B in float32 for one or several independent products, partitioned into
// tasks and, within a task, blocked for the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/gemm/epilogue_post_ops.h"
#include "cpu/gemm/gemm_operands.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/simd/float_span.h"

namespace softneuro {

// Immutable. The partition depends on shape, limits and instruction set only.
class BlockedGemm {
 public:
  BlockedGemm(const GemmShape& shape, const GemmLimits& limits, const MicroKernels& kernels);

  static std::int64_t workspace_floats() noexcept { return 0; }

  // c: memory of the layer's whole output in float32; inputs: those of the layer, for post-ops.
  void run(const Workers& workers, std::span<const TensorView> inputs, float* c,
           const GemmOperands<float>& operands, const EpiloguePostOps& ops,
           float* workspace = nullptr) const noexcept;
  std::int64_t tasks() const noexcept { return shape_.matrices * tasks_.count(); }

 private:
  struct Task;
  // A part of the sum: of some segments, or of one.
  struct DepthBlock {
    std::int64_t segment, segments, offset, length;
  };
  // What of B goes together through the cache: some groups, a part of the sum.
  struct Block {
    std::int64_t first_group = 0, last_group = 0, depth = 0;
  };
  // The cache lines of a block of B that is read later, panel by panel. Each tile prefetches a
  // share of them while it multiplies.
  class Prefetch {
   public:
    Prefetch() = default;
    Prefetch(const std::byte* first, std::int64_t panel_bytes, std::int64_t lines_of_panel,
             std::int64_t panels) noexcept;
    // Divides them among `tiles` tiles whose sums are `steps` long.
    void begin(std::int64_t tiles, std::int64_t steps) noexcept;
    // The next share goes to `tile`.
    void give(MicroTile& tile) noexcept;

   private:
    const std::byte* panel_ = nullptr;
    std::int64_t panel_bytes_ = 0, lines_of_panel_ = 0, panels_ = 0;
    std::int64_t line_ = 0, lines_of_tile_ = 0, every_ = kTileNever;
  };

  // A group is what is adjacent in one tile: whole panels, or within one.
  struct Groups {
    std::int64_t count = 0, vectors = 0;  // vectors of all groups
    std::int64_t unit_vectors = 1;        // groups are made of whole units
    std::int64_t units = 0, wider = 0;    // of a group; so many of the first have one more

    // Vectors that come before group g.
    std::int64_t vectors_before(std::int64_t group) const noexcept {
      return std::min((group * units + std::min(group, wider)) * unit_vectors, vectors);
    }
    int widest(std::int64_t first, std::int64_t last) const noexcept;
  };

  std::int64_t weight_bytes() const noexcept { return shape_.half_weights ? 2 : 4; }
  DepthBlock depth_block(std::int64_t index) const noexcept;
  void choose_blocks(const GemmLimits& limits);

  void begin_task(Task& task, std::int64_t index) const noexcept;
  void run_task(const Task& shared, std::int64_t index) const noexcept;
  bool advance(const Task& task, Block& block) const noexcept;
  const std::byte* weights(const Task& task, std::int64_t column,
                           std::int64_t depth) const noexcept;
  Prefetch prefetch_of(const Task& task, const Block& block) const noexcept;
  void run_block(const Task& task, const Block& block, Prefetch& next) const noexcept;
  void run_rows(const Task& task, std::int64_t row, int rows, const Block& block,
                Prefetch& next) const noexcept;
  void prefetch_output(const MicroTile& tile, std::int64_t rows_before, std::int64_t rows,
                       std::size_t vectors) const noexcept;
  void finish(const Task& task, std::int64_t row, int rows, std::int64_t first_group,
              std::int64_t last_group) const noexcept;

  GemmShape shape_;
  const MicroKernels* kernels_ = nullptr;
  Groups groups_;
  GemmTasks tasks_;                  // tasks of one matrix
  std::int64_t block_groups_ = 0;    // groups that go together
  std::size_t vectors_of_line_ = 1;  // in a cache line of C, where columns are contiguous
  bool large_output_ = false;        // beyond the cache: what is written next is called into it
  // The sum is partitioned into blocks of block_segments_, or each segment into segment_parts_.
  std::int64_t depth_blocks_ = 0, block_segments_ = 0, segment_parts_ = 0;
};

// How B is packed for it. T: of the packed numbers, Half or float.
template <class T>
struct TileOps {
  std::int64_t most_lanes = kTilePanel;  // of a vector: C's blocks take no wider ones

  const MicroKernels& kernels() const noexcept { return micro_kernels_within(most_lanes); }
  static std::int64_t panel_bytes(std::int64_t segments, std::int64_t length) noexcept {
    return segments * length * kTilePanel * static_cast<std::int64_t>(sizeof(T));
  }
  static void pack(const float* from, std::int64_t segments, std::int64_t length,
                   std::byte* to) noexcept {
    float_spans().store(data_type_of<T>(), from, to, segments * length * kTilePanel);
  }
};

// What weights are packed as for x and y of type T: float16 is widened in registers. bfloat16 as
// float32, so that there are no more kernels: processors that gain by it multiply it (HalfGemm).
template <class T>
using TiledWeights = std::conditional_t<std::is_same_v<T, Half>, Half, float>;

// It as layers take it (see packed_layer.h). T: of x and y.
template <class T>
class TiledGemm : public BlockedGemm {
 public:
  using Number = T;
  using Operand = float;
  using Ops = TileOps<TiledWeights<T>>;
  static constexpr int kVersion = 1;
  static constexpr DataType kAccumulator = DataType::float32;
  static constexpr std::int64_t kReusedBytes = sizeof(float);

  TiledGemm(const GemmShape& shape, const GemmLimits& limits, const Ops& ops)
      : BlockedGemm(of_weights(shape), limits, ops.kernels()) {}

 private:
  static GemmShape of_weights(GemmShape shape) noexcept {
    shape.half_weights = std::is_same_v<TiledWeights<T>, Half>;
    return shape;
  }
};

}  // namespace softneuro
