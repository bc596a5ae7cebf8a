// dense cpu/gemm: x[rows, K] · w[K, N] on packed weights. A single row is multiplied as it is, more
// are packed first. float16 and bfloat16 tensors are converted at the borders.
#include <algorithm>

#include "core/routine/registry.h"
#include "cpu/post_ops/post_ops.h"
#include "cpu/simd/float_span.h"
#include "routines/dense/dense_sizes.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

// A task's tile. Few columns for few rows: then reading the weights is the work to be shared.
constexpr std::int64_t kTileRows = 96;
constexpr std::int64_t kTileColumns = 128;
static_assert(kTileRows % kGemmRows == 0 && kTileColumns % kGemmColumns == 0);

class GemmDenseKernel final : public Kernel {
 public:
  GemmDenseKernel(const DenseSizes& sizes, bool has_bias, DataType type, PackedWeights packed,
                  PostOpProgram post_ops)
      : s_(sizes),
        has_bias_(has_bias),
        type_(type),
        packed_(std::move(packed.bytes)),
        post_ops_(std::move(post_ops)) {
    const bool convert = type != DataType::float32;
    if (s_.rows > 1) a_at_ = regions_.add(packed_a_floats(s_.rows, s_.depth));
    if (packed_.empty()) {
      b_at_ = regions_.add(packed_b_floats(s_.depth, s_.columns));
      if (convert) weights_at_ = regions_.add(s_.depth * s_.columns);
    }
    if (convert) {
      x_at_ = regions_.add(s_.rows * s_.depth);
      y_at_ = regions_.add(s_.rows * s_.columns);
      bias_at_ = regions_.add(s_.columns);
    }
  }

  std::size_t workspace_bytes() const noexcept override { return regions_.bytes(); }

  Status run(Context& context) const noexcept override {
    const Operands operands = prepare(context);
    const std::int64_t row_tiles = (s_.rows + kTileRows - 1) / kTileRows;
    const std::int64_t column_tiles = (s_.columns + kTileColumns - 1) / kTileColumns;
    parallel_for(context.pool(), row_tiles * column_tiles, [&](std::int64_t i) {
      run_tile(context, operands, i % row_tiles * kTileRows, i / row_tiles * kTileColumns);
    });
    return {};
  }

 private:
  struct Operands {
    const float* a;     // packed unless there is one row
    const float* b;     // packed
    const float* bias;  // may be null
    float* y;
  };

  Operands prepare(Context& context) const noexcept {
    float* const workspace = reinterpret_cast<float*>(context.workspace());
    const auto floats = [&](std::size_t input, std::int64_t at) -> const float* {
      const TensorView& view = context.input(input);
      if (type_ == DataType::float32) return view.as<float>();
      load_floats(context.pool(), type_, view.data, workspace + at, view.elements());
      return workspace + at;
    };
    Operands operands{};
    operands.a = floats(kX, x_at_);
    if (s_.rows > 1) {
      const float* const x = operands.a;
      float* const packed = workspace + a_at_;
      const std::int64_t tiles = (s_.rows + kTileRows - 1) / kTileRows;
      parallel_for(context.pool(), tiles, [&](std::int64_t i) {
        const std::int64_t row = i * kTileRows;
        pack_a({x + row * s_.depth, s_.depth, 1}, std::min(kTileRows, s_.rows - row), s_.depth,
               packed + row * s_.depth);
      });
      operands.a = packed;
    }
    operands.bias = has_bias_ ? floats(kBias, bias_at_) : nullptr;
    operands.b = static_cast<const float*>(packed_.data());
    if (packed_.empty()) {
      const MatrixView w = s_.weights(floats(kWeights, weights_at_));
      float* const packed = workspace + b_at_;
      const std::int64_t tiles = (s_.columns + kTileColumns - 1) / kTileColumns;
      parallel_for(context.pool(), tiles, [&](std::int64_t i) {
        const std::int64_t column = i * kTileColumns;
        pack_b({w.at(0, column), w.row_stride, w.column_stride}, s_.depth,
               std::min(kTileColumns, s_.columns - column), packed + column * s_.depth);
      });
      operands.b = packed;
    }
    operands.y =
        type_ == DataType::float32 ? context.output(0).as_mutable<float>() : workspace + y_at_;
    return operands;
  }

  void run_tile(Context& context, const Operands& operands, std::int64_t row,
                std::int64_t column) const noexcept {
    GemmTask task;
    task.m = std::min(kTileRows, s_.rows - row);
    task.n = std::min(kTileColumns, s_.columns - column);
    task.k = s_.depth;
    task.a = operands.a + row * s_.depth;
    task.a_column_stride = s_.rows > 1 ? kGemmRows : 1;
    task.a_panel_stride = kGemmRows * s_.depth;
    task.b = operands.b + column * s_.depth;
    task.b_panel_stride = kGemmColumns * s_.depth;
    task.c = operands.y + row * s_.columns + column;
    task.c_row_stride = s_.columns;
    task.accumulate = operands.bias != nullptr;
    for (std::int64_t r = 0; task.accumulate && r < task.m; ++r)
      std::copy_n(operands.bias + column, task.n, task.c + r * s_.columns);
    gemm(task);
    for (std::int64_t r = 0; r < task.m; ++r) {
      const std::int64_t offset = (row + r) * s_.columns + column;
      post_ops_.apply(context.inputs(), operands.y + offset, offset, task.n);
      if (type_ != DataType::float32)
        float_spans().store(type_, operands.y + offset,
                            context.output(0).as_mutable<std::uint16_t>() + offset, task.n);
    }
  }

  DenseSizes s_;
  bool has_bias_;
  DataType type_;
  Tensor packed_;  // empty: the weights are packed when they are known
  PostOpProgram post_ops_;
  FloatRegions regions_;
  std::int64_t a_at_ = 0, b_at_ = 0, weights_at_ = 0, x_at_ = 0, y_at_ = 0, bias_at_ = 0;
};

class GemmDense final : public FusesPostOps<PostOpProgram::supports_in_float32> {
 public:
  GemmDense() : FusesPostOps("dense", "cpu/gemm") {}
  int default_rank() const override { return 10; }

  Applicability applicable(const Problem& problem) const override {
    if (!is_span_float(problem.inputs[kX].type))
      return Applicability::no("only float32, float16 and bfloat16");
    return Applicability::yes();
  }

  Result<std::size_t> packed_bytes(const Problem& problem, const RoutineParams&) const override {
    if (!problem.inputs[kWeights].constant) return 0;
    const DenseSizes sizes(problem);
    return static_cast<std::size_t>(packed_b_floats(sizes.depth, sizes.columns)) * sizeof(float);
  }
  Status pack(const Problem& problem, const RoutineParams&, Allocator& scratch,
              std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(problem.inputs[kWeights].value, scratch));
    const DenseSizes sizes(problem);
    pack_b(sizes.weights(static_cast<const float*>(floats.data())), sizes.depth, sizes.columns,
           reinterpret_cast<float*>(packed));
    return {};
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(PostOpProgram post_ops, PostOpProgram::create(problem));
    return make_kernel<GemmDenseKernel>(DenseSizes(problem), problem.has_input(kBias),
                                        problem.inputs[kX].type, packed, std::move(post_ops));
  }
};

}  // namespace

Status register_routine_dense_cpu_gemm(Registry& registry) {
  return registry.add(std::make_unique<GemmDense>());
}

}  // namespace softneuro
