// conv1, conv2, conv3 cpu/gemm: weights[M,K] · patches[K, output positions] for each image and
// group, with K = channels per group · kernel positions. Weights are packed beforehand; patches are
// packed in chunks that fit the cache (1x1: the input itself), then all threads multiply tiles.
// float16 and bfloat16 tensors are converted at the borders.
#include <algorithm>

#include "core/routine/registry.h"
#include "cpu/gemm/gemm.h"
#include "cpu/gemm/gemm_tasks.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"
#include "routines/conv2/geometry.h"
#include "routines/conv2/im2col.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

constexpr std::int64_t kChunkFloats = 256 * 1024;  // patches that are packed at a time: 1 MiB
constexpr std::int64_t kTilePanels = 8;            // a task's tile: 128 columns …
constexpr std::int64_t kTileRows = 96;             // … by 96 rows, and whole panels of both
static_assert(kTileRows % kGemmRows == 0);
constexpr std::int64_t kPackPanels = 4;  // panels that a task packs

void pack_weights(const ConvGeometry& g, const float* weights, float* packed) noexcept {
  for (std::int64_t group = 0; group < g.group; ++group)
    pack_a({weights + group * g.out * g.depth(), g.depth(), 1}, g.out, g.depth(),
           packed + group * packed_a_floats(g.out, g.depth()));
}

class GemmConvKernel final : public Kernel {
 public:
  GemmConvKernel(const ConvGeometry& geometry, DataType type, PackedWeights packed,
                 PostOpProgram post_ops)
      : g_(geometry),
        type_(type),
        packed_(std::move(packed.bytes)),
        post_ops_(std::move(post_ops)) {
    const std::int64_t outputs = g_.window.output_elements();
    const bool convert = type != DataType::float32;
    panels_ = chunks_of(outputs, kGemmColumns);
    const std::int64_t budget =
        std::max(kTilePanels, kChunkFloats / std::max<std::int64_t>(panel_floats(), 1));
    chunk_slices_ = std::clamp<std::int64_t>(budget / std::max<std::int64_t>(panels_, 1), 1,
                                             std::max<std::int64_t>(slices(), 1));
    chunk_panels_ = std::min(panels_, budget / kTilePanels * kTilePanels);
    patches_at_ = regions_.add(chunk_slices_ * chunk_panels_ * panel_floats());
    if (packed_.empty()) {
      packed_at_ = regions_.add(g_.group * packed_a_floats(g_.out, g_.depth()));
      if (convert) weights_at_ = regions_.add(g_.channels_out() * g_.depth());
    }
    if (convert) {
      x_at_ = regions_.add(g_.batch * g_.channels_in() * g_.window.input_elements());
      y_at_ = regions_.add(g_.batch * g_.channels_out() * outputs);
      bias_at_ = regions_.add(g_.channels_out());
    }
  }

  std::size_t workspace_bytes() const noexcept override { return regions_.bytes(); }

  Status run(Context& context) const noexcept override {
    const Operands operands = prepare(context);
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

  Operands prepare(Context& context) const noexcept {
    float* const workspace = reinterpret_cast<float*>(context.workspace());
    const auto floats = [&](std::size_t input, std::int64_t at) -> const float* {
      const TensorView& view = context.input(input);
      if (type_ == DataType::float32) return view.as<float>();
      load_floats(context.pool(), type_, view.data, workspace + at, view.elements());
      return workspace + at;
    };
    Operands operands{};
    operands.patches = workspace + patches_at_;
    operands.x = floats(kX, x_at_);
    operands.bias = g_.bias ? floats(kBias, bias_at_) : nullptr;
    operands.y =
        type_ == DataType::float32 ? context.output(0).as_mutable<float>() : workspace + y_at_;
    if (packed_.empty()) {
      pack_weights(g_, floats(kWeights, weights_at_), workspace + packed_at_);
      operands.weights = workspace + packed_at_;
    } else {
      operands.weights = static_cast<const float*>(packed_.data());
    }
    return operands;
  }

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
    const std::int64_t rows = chunks_of(g_.out, kTileRows);
    parallel_for(context.pool(), chunk.slices * columns * rows, [&](std::int64_t i) {
      run_tile(context, operands, chunk, i / rows / columns, i / rows % columns * kTilePanels,
               i % rows * kTileRows);
    });
  }

  // Rows from `row` on of one group against panels from `panel` on of the chunk.
  void run_tile(Context& context, const Operands& operands, const Chunk& chunk, std::int64_t slice,
                std::int64_t panel, std::int64_t row) const noexcept {
    const std::int64_t outputs = g_.window.output_elements();
    const std::int64_t column = (chunk.panel + panel) * kGemmColumns;
    const std::int64_t group = (chunk.slice + slice) % g_.group;
    GemmTask task;
    task.m = std::min(kTileRows, g_.out - row);
    task.n = std::min({kTilePanels, chunk.panels - panel}) * kGemmColumns;
    task.n = std::min(task.n, outputs - column);
    task.k = g_.depth();
    task.a = operands.weights + group * packed_a_floats(g_.out, g_.depth()) + row * g_.depth();
    task.a_panel_stride = kGemmRows * g_.depth();
    task.b = operands.patches + (slice * chunk.panels + panel) * panel_floats();
    task.b_panel_stride = panel_floats();
    const std::int64_t offset = ((chunk.slice + slice) * g_.out + row) * outputs + column;
    task.c = operands.y + offset;
    task.c_row_stride = outputs;
    if (operands.bias != nullptr) {
      for (std::int64_t r = 0; r < task.m; ++r)
        std::fill_n(task.c + r * outputs, task.n, operands.bias[group * g_.out + row + r]);
      task.accumulate = true;
    }
    gemm(task);
    finish_tile(context, task, offset);
  }

  // Post-ops and rounding, while the tile is in the cache.
  void finish_tile(Context& context, const GemmTask& task, std::int64_t offset) const noexcept {
    const bool whole_rows = task.n == task.c_row_stride;
    const std::int64_t rows = whole_rows ? 1 : task.m;
    const std::int64_t count = whole_rows ? task.m * task.n : task.n;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t begin = r * task.c_row_stride;
      post_ops_.apply(context.inputs(), task.c + begin, offset + begin, count);
      if (type_ != DataType::float32)
        float_spans().store(type_, task.c + begin,
                            context.output(0).as_mutable<std::uint16_t>() + offset + begin, count);
    }
  }

  ConvGeometry g_;
  DataType type_;
  Tensor packed_;  // empty: the weights are packed when they are known
  PostOpProgram post_ops_;
  std::int64_t panels_ = 0;  // of one slice's patches
  std::int64_t chunk_slices_ = 1, chunk_panels_ = 1;
  FloatRegions regions_;
  std::int64_t patches_at_ = 0, packed_at_ = 0, weights_at_ = 0, x_at_ = 0, y_at_ = 0, bias_at_ = 0;
};

// The packed weights: `count` groups. Nothing but the weights' own shape counts.
struct PackedGroups {
  explicit PackedGroups(const Problem& problem) : count(problem.params.integer("group")) {
    const Shape& weights = problem.inputs[kWeights].shape;
    out = weights[0] / count;
    depth = weights.elements(1, weights.rank());
    floats = packed_a_floats(out, depth);
  }
  std::int64_t count, out, depth, floats;
};

class GemmConv final : public FusesPostOps<PostOpProgram::supports_in_float32> {
 public:
  explicit GemmConv(const char* layer_type) : FusesPostOps(layer_type, "cpu/gemm") {}
  int default_rank() const override { return 10; }

  Applicability applicable(const Problem& problem) const override {
    if (!is_span_float(problem.inputs[kX].type))
      return Applicability::no("only float32, float16 and bfloat16");
    return Applicability::yes();
  }

  Result<std::size_t> packed_bytes(const Problem& problem, const RoutineParams&) const override {
    if (!problem.inputs[kWeights].constant) return 0;
    const PackedGroups g(problem);
    return static_cast<std::size_t>(g.count * g.floats) * sizeof(float);
  }
  Status pack(const Problem& problem, const RoutineParams&, Allocator& scratch,
              std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(problem.inputs[kWeights].value, scratch));
    const PackedGroups g(problem);
    const auto* const from = static_cast<const float*>(floats.data());
    for (std::int64_t group = 0; group < g.count; ++group)
      pack_a({from + group * g.out * g.depth, g.depth, 1}, g.out, g.depth,
             reinterpret_cast<float*>(packed) + group * g.floats);
    return {};
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
    SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
    return make_kernel<GemmConvKernel>(geometry, problem.inputs[kX].type, packed,
                                       std::move(post_ops));
  }
};

}  // namespace

Status register_routine_conv2_cpu_gemm(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<GemmConv>("conv1")));
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<GemmConv>("conv2")));
  return registry.add(std::make_unique<GemmConv>("conv3"));
}

}  // namespace softneuro
