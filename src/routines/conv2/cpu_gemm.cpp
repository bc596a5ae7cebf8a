// conv1, conv2, conv3 cpu/gemm: weights[M,K] · patches[K, output positions] for each image and
// group, with K = channels per group · kernel positions. Weights are packed beforehand; patches are
// packed in chunks that fit the cache (1x1: the input itself), then all threads multiply tiles.
// float16 and bfloat16 tensors are converted at the borders.
#include <algorithm>

#include "routines/conv2/gemm_conv.h"
#include "routines/conv2/im2col.h"

namespace softneuro {
namespace {

constexpr std::int64_t kChunkFloats = 256 * 1024;  // patches that are packed at a time: 1 MiB
constexpr std::int64_t kTilePanels = kGemmTileColumns / kGemmColumns;
constexpr std::int64_t kPackPanels = 4;  // panels that a task packs

class ConvKernel final : public GemmConvKernel {
 public:
  ConvKernel(const Problem& problem, const ConvGeometry& geometry, const PackedWeights& packed,
             PostOpProgram post_ops)
      : GemmConvKernel(problem, geometry, false, packed, std::move(post_ops)),
        g_(geometry),
        panels_(chunks_of(g_.window.output_elements(), kGemmColumns)) {
    const std::int64_t budget =
        std::max(kTilePanels, kChunkFloats / std::max<std::int64_t>(panel_floats(), 1));
    chunk_slices_ = std::clamp<std::int64_t>(budget / std::max<std::int64_t>(panels_, 1), 1,
                                             std::max<std::int64_t>(slices(), 1));
    chunk_panels_ = std::min(panels_, budget / kTilePanels * kTilePanels);
    patches_at_ = reserve(chunk_slices_ * chunk_panels_ * panel_floats());
  }

  Status run(Context& context) const noexcept override {
    const Operands operands = {input(context, kX), weights(context), bias(context), output(context),
                               workspace_of(context) + patches_at_};
    for (std::int64_t slice = 0; slice < slices(); slice += chunk_slices_)
      for (std::int64_t panel = 0; panel < panels_; panel += chunk_panels_)
        run_chunk(context, operands,
                  {slice, std::min(chunk_slices_, slices() - slice), panel,
                   std::min(chunk_panels_, panels_ - panel)});
    return {};
  }

 private:
  // All in float32.
  struct Operands {
    const float* x;
    const float* weights;  // packed
    const float* bias;     // may be null
    float* y;
    float* patches;
  };
  // Some panels of some slices; a slice is one group of one image.
  struct Chunk {
    std::int64_t slice, slices, panel, panels;
  };

  std::int64_t slices() const noexcept { return g_.batch * g_.group; }
  std::int64_t panel_floats() const noexcept { return kGemmColumns * g_.depth(); }

  void run_chunk(Context& context, const Operands& operands, const Chunk& chunk) const noexcept {
    const std::int64_t packs = chunks_of(chunk.panels, kPackPanels);
    parallel_for(context.pool(), chunk.slices * packs, [&](std::int64_t i) {
      const std::int64_t slice = i / packs;
      const std::int64_t first = i % packs * kPackPanels;
      const float* const x =
          operands.x + (chunk.slice + slice) * g_.in * g_.window.input_elements();
      for (std::int64_t p = first; p < std::min(first + kPackPanels, chunk.panels); ++p)
        pack_patches(g_.window, g_.in, x, chunk.panel + p,
                     operands.patches + (slice * chunk.panels + p) * panel_floats());
    });
    const std::int64_t columns = chunks_of(chunk.panels, kTilePanels);
    const std::int64_t rows = chunks_of(g_.out, kGemmTileRows);
    parallel_for(context.pool(), chunk.slices * columns * rows, [&](std::int64_t i) {
      run_tile(context, operands, chunk, i / rows / columns, i / rows % columns * kTilePanels,
               i % rows * kGemmTileRows);
    });
  }

  // Rows from `row` on of one group against panels from `panel` on of the chunk.
  void run_tile(Context& context, const Operands& operands, const Chunk& chunk, std::int64_t slice,
                std::int64_t panel, std::int64_t row) const noexcept {
    const std::int64_t outputs = g_.window.output_elements();
    const std::int64_t column = (chunk.panel + panel) * kGemmColumns;
    const std::int64_t group = (chunk.slice + slice) % g_.group;
    GemmTask task;
    task.m = std::min(kGemmTileRows, g_.out - row);
    task.n = std::min(std::min(kTilePanels, chunk.panels - panel) * kGemmColumns, outputs - column);
    task.k = g_.depth();
    task.a = operands.weights + group * group_floats() + row * g_.depth();
    task.b = operands.patches + (slice * chunk.panels + panel) * panel_floats();
    const std::int64_t offset = ((chunk.slice + slice) * g_.out + row) * outputs + column;
    task.c = operands.y + offset;
    task.c_row_stride = outputs;
    if (operands.bias != nullptr) {
      for (std::int64_t r = 0; r < task.m; ++r)
        std::fill_n(task.c + r * outputs, task.n, operands.bias[group * g_.out + row + r]);
      task.accumulate = true;
    }
    gemm(task);
    finish(context, operands.y, offset, task.m, task.n, outputs);
  }

  ConvGeometry g_;
  std::int64_t panels_;  // of one slice's patches
  std::int64_t chunk_slices_ = 1, chunk_panels_ = 1, patches_at_ = 0;
};

// Packing patches takes time, and more of it the more often an element of x is in one.
double speed(const Problem& problem) {
  const Shape& weights = problem.inputs[1].shape;
  const bool has_patches = weights.elements(2, weights.rank()) > 1;
  return (has_patches ? 0.5 : 0.75) * filled_panel(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext&,
                                       const PackedWeights& packed) {
  SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
  SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
  return make_kernel<ConvKernel>(problem, geometry, packed, std::move(post_ops));
}

}  // namespace

Status register_routine_conv2_cpu_gemm(Registry& registry) {
  RoutineFunctions functions = gemm_conv<false>();
  functions.speed = speed;
  functions.create_with = create;
  return add_routines(registry, {"conv1", "conv2", "conv3"}, {"cpu"}, "gemm", functions);
}

}  // namespace softneuro
