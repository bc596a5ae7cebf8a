// conv_transpose1, conv_transpose2, conv_transpose3 cpu/gemm: weightsᵀ[M·kernel, C] · x[C, input
// positions] for each image and group, a chunk of output channels at a time; then col2im: each
// output plane gathers its rows of the product where they belong. float16 and bfloat16 tensors are
// converted at the borders.
#include <algorithm>

#include "core/routine/registry.h"
#include "cpu/gemm/gemm.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"
#include "routines/conv2/geometry.h"
#include "routines/conv_transpose2/col2im.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

constexpr std::int64_t kTileRows = 96, kTileColumns = 128;
static_assert(kTileRows % kGemmRows == 0 && kTileColumns % kGemmColumns == 0);
constexpr std::int64_t kChunkFloats = 512 * 1024;  // of the product: 2 MiB

// Matrix A of one group: row (m, kernel position), column c. The weights are [c, m, kernel].
MatrixView group_weights(const float* weights, std::int64_t group, std::int64_t in,
                         std::int64_t rows) {
  return {weights + group * in * rows, 1, rows};
}

class GemmConvTransposeKernel final : public Kernel {
 public:
  GemmConvTransposeKernel(const ConvGeometry& geometry, DataType type, PackedWeights packed,
                          PostOpProgram post_ops)
      : g_(geometry),
        type_(type),
        packed_(std::move(packed.bytes)),
        post_ops_(std::move(post_ops)) {
    const bool convert = type != DataType::float32;
    const std::int64_t channel = g_.window.kernel_elements() * inputs();
    chunk_ = std::clamp<std::int64_t>(kChunkFloats / std::max<std::int64_t>(channel, 1), 1,
                                      std::max<std::int64_t>(g_.out, 1));
    product_at_ = regions_.add(chunk_ * channel);
    b_at_ = regions_.add(packed_b_floats(g_.in, inputs()));
    if (packed_.empty()) {
      packed_at_ = regions_.add(g_.group * packed_a_floats(rows(), g_.in));
      if (convert) weights_at_ = regions_.add(g_.channels_in() * rows());
    }
    if (convert) {
      x_at_ = regions_.add(g_.batch * g_.channels_in() * inputs());
      y_at_ = regions_.add(g_.batch * g_.channels_out() * g_.window.output_elements());
      bias_at_ = regions_.add(g_.channels_out());
    }
  }

  std::size_t workspace_bytes() const noexcept override { return regions_.bytes(); }

  Status run(Context& context) const noexcept override {
    const Operands operands = prepare(context);
    for (std::int64_t slice = 0; slice < g_.batch * g_.group; ++slice) {
      pack_input(context, operands, slice);
      for (std::int64_t m = 0; m < g_.out; m += chunk_) {
        const std::int64_t channels = std::min(chunk_, g_.out - m);
        multiply(context, operands, slice, m, channels);
        parallel_for(context.pool(), channels, [&](std::int64_t c) {
          finish_plane(context, operands, slice, m + c,
                       operands.product + c * g_.window.kernel_elements() * inputs());
        });
      }
    }
    return {};
  }

 private:
  // All in float32.
  struct Operands {
    const float* x;
    const float* weights;  // packed
    const float* bias;     // may be null
    float* y;
    float* b;        // x of one slice, packed
    float* product;  // of a chunk of output channels
  };

  std::int64_t inputs() const noexcept { return g_.window.input_elements(); }
  // Rows of one group's product.
  std::int64_t rows() const noexcept { return g_.out * g_.window.kernel_elements(); }

  Operands prepare(Context& context) const noexcept {
    float* const workspace = reinterpret_cast<float*>(context.workspace());
    const auto floats = [&](std::size_t input, std::int64_t at) -> const float* {
      const TensorView& view = context.input(input);
      if (type_ == DataType::float32) return view.as<float>();
      load_floats(context.pool(), type_, view.data, workspace + at, view.elements());
      return workspace + at;
    };
    Operands operands{};
    operands.x = floats(kX, x_at_);
    operands.bias = g_.bias ? floats(kBias, bias_at_) : nullptr;
    operands.y =
        type_ == DataType::float32 ? context.output(0).as_mutable<float>() : workspace + y_at_;
    operands.b = workspace + b_at_;
    operands.product = workspace + product_at_;
    if (packed_.empty()) {
      const float* const weights = floats(kWeights, weights_at_);
      float* const packed = workspace + packed_at_;
      parallel_for(context.pool(), g_.group, [&](std::int64_t group) {
        pack_a(group_weights(weights, group, g_.in, rows()), rows(), g_.in,
               packed + group * packed_a_floats(rows(), g_.in));
      });
      operands.weights = packed;
    } else {
      operands.weights = static_cast<const float*>(packed_.data());
    }
    return operands;
  }

  void pack_input(Context& context, const Operands& operands, std::int64_t slice) const noexcept {
    const float* const x = operands.x + slice * g_.in * inputs();
    parallel_for(context.pool(), gemm_panels(inputs(), kTileColumns), [&](std::int64_t i) {
      const std::int64_t column = i * kTileColumns;
      pack_b({x + column, inputs(), 1}, g_.in, std::min(kTileColumns, inputs() - column),
             operands.b + column * g_.in);
    });
  }

  // Rows of `channels` output channels from `m` on. The first need not begin a panel of A: the
  // product then starts with the panel's earlier rows, which are not read.
  void multiply(Context& context, const Operands& operands, std::int64_t slice, std::int64_t m,
                std::int64_t channels) const noexcept {
    const std::int64_t kernel = g_.window.kernel_elements();
    const std::int64_t first = m * kernel, count = channels * kernel;
    const float* const a = operands.weights + slice % g_.group * packed_a_floats(rows(), g_.in);
    const std::int64_t row_tiles = gemm_panels(first % kGemmRows + count, kTileRows);
    const std::int64_t column_tiles = gemm_panels(inputs(), kTileColumns);
    parallel_for(context.pool(), row_tiles * column_tiles, [&](std::int64_t i) {
      const std::int64_t column = i / row_tiles * kTileColumns;
      const std::int64_t begin = first - first % kGemmRows + i % row_tiles * kTileRows;
      multiply_rows(operands, a, begin, std::min(begin + kTileRows, first + count), first, column);
    });
  }

  // Rows [begin, end) of the product, those below `first` apart; `begin` begins a panel.
  void multiply_rows(const Operands& operands, const float* a, std::int64_t begin, std::int64_t end,
                     std::int64_t first, std::int64_t column) const noexcept {
    GemmTask task;
    task.n = std::min(kTileColumns, inputs() - column);
    task.k = g_.in;
    task.a_panel_stride = kGemmRows * g_.in;
    task.b = operands.b + column * g_.in;
    task.b_panel_stride = kGemmColumns * g_.in;
    if (begin < first) {
      // The panel that this chunk shares with the one before: its other rows go nowhere.
      float buffer[kGemmRows * kTileColumns];
      task.m = std::min(kGemmRows, end - begin);
      task.a = a + begin * g_.in;
      task.c = buffer;
      task.c_row_stride = kTileColumns;
      gemm(task);
      for (std::int64_t r = first; r < begin + task.m; ++r)
        std::copy_n(buffer + (r - begin) * kTileColumns, task.n,
                    operands.product + (r - first) * inputs() + column);
      begin += kGemmRows;
    }
    if (begin >= end) return;
    task.m = end - begin;
    task.a = a + begin * g_.in;
    task.c = operands.product + (begin - first) * inputs() + column;
    task.c_row_stride = inputs();
    gemm(task);
  }

  void finish_plane(Context& context, const Operands& operands, std::int64_t slice, std::int64_t m,
                    const float* product) const noexcept {
    const std::int64_t outputs = g_.window.output_elements();
    const std::int64_t offset = (slice * g_.out + m) * outputs;
    const std::int64_t channel = slice % g_.group * g_.out + m;
    float* const y = operands.y + offset;
    std::fill_n(y, outputs, operands.bias == nullptr ? 0.0f : operands.bias[channel]);
    col2im(g_.window, product, y);
    post_ops_.apply(context.inputs(), y, offset, outputs);
    if (type_ != DataType::float32)
      float_spans().store(type_, y, context.output(0).as_mutable<std::uint16_t>() + offset,
                          outputs);
  }

  ConvGeometry g_;
  DataType type_;
  Tensor packed_;  // empty: the weights are packed when they are known
  PostOpProgram post_ops_;
  std::int64_t chunk_ = 1;  // output channels at a time
  FloatRegions regions_;
  std::int64_t product_at_ = 0, b_at_ = 0, packed_at_ = 0, weights_at_ = 0, x_at_ = 0, y_at_ = 0,
               bias_at_ = 0;
};

// The packed weights: `count` groups of so many floats. Nothing but the weights' own shape counts.
struct PackedGroups {
  explicit PackedGroups(const Problem& problem) : count(problem.params.integer("group")) {
    const Shape& weights = problem.inputs[kWeights].shape;
    in = weights[0] / count;
    rows = weights.elements(1, weights.rank());
    floats = packed_a_floats(rows, in);
  }
  std::int64_t count, in, rows, floats;
};

class GemmConvTranspose final : public FusesPostOps<PostOpProgram::supports_in_float32> {
 public:
  explicit GemmConvTranspose(const char* layer_type) : FusesPostOps(layer_type, "cpu/gemm") {}
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
    for (std::int64_t group = 0; group < g.count; ++group)
      pack_a(group_weights(static_cast<const float*>(floats.data()), group, g.in, g.rows), g.rows,
             g.in, reinterpret_cast<float*>(packed) + group * g.floats);
    return {};
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, transposed_conv_geometry(problem));
    SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
    return make_kernel<GemmConvTransposeKernel>(geometry, problem.inputs[kX].type, packed,
                                                std::move(post_ops));
  }
};

}  // namespace

Status register_routine_conv_transpose2_cpu_gemm(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<GemmConvTranspose>("conv_transpose1")));
  SN_RETURN_IF_ERROR(registry.add(std::make_unique<GemmConvTranspose>("conv_transpose2")));
  return registry.add(std::make_unique<GemmConvTranspose>("conv_transpose3"));
}

}  // namespace softneuro
