#include "routines/dense/half_dense.h"

#include "core/error.h"
#include "core/float_span.h"
#include "core/gemm/half_sweep.h"
#include "core/gemm/swept_layer.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

bool transposed(const Problem& problem) {  // weights are [columns, depth]
  return problem.params.integer("transpose_weights") != 0;
}

HalfSweepShape sweep_shape(const Problem& problem) {
  const Shape& x = problem.inputs[kX].shape;
  const Shape& w = problem.inputs[kWeights].shape;
  HalfSweepShape shape;
  shape.rows = x.elements(0, x.rank() - 1);
  shape.length = w[transposed(problem) ? 1 : 0];
  shape.columns = w[transposed(problem) ? 0 : 1];
  shape.c_row_stride = shape.columns;
  return shape;
}

class HalfDenseOperands final : public HalfSweepOperands {
 public:
  HalfDenseOperands(const Half* x, std::int64_t depth, const Matrix& matrix)
      : x_(x), depth_(depth), matrix_(matrix) {}
  Matrix matrix(std::int64_t) const noexcept override { return matrix_; }
  void point(const SweepRows& rows, const Half** pointers, Half*) const noexcept override {
    for (int r = 0; r < rows.rows; ++r) pointers[r] = x_ + (rows.row + r) * depth_;
  }

 private:
  const Half* x_;
  std::int64_t depth_;
  Matrix matrix_;
};

class HalfDenseKernel final : public Kernel {
 public:
  HalfDenseKernel(const HalfSweepShape& shape, const HalfTileOps& ops, const SweepLimits& limits,
                  const PackedWeights& packed, TileBias bias, TilePostOps post_ops)
      : depth_(shape.length),
        sweep_(shape, limits, ops),
        packed_(packed.bytes),
        bias_(std::move(bias)),
        post_ops_(std::move(post_ops)) {
    regions_.add(bias_.workspace_floats());
  }

  std::size_t workspace_bytes() const noexcept override { return regions_.bytes(); }
  int in_place_input() const noexcept override { return post_ops_.in_place_input(); }

  Status run(Context& context) const noexcept override {
    const HalfSweepOperands::Matrix weights{
        static_cast<const std::byte*>(packed_.data()),
        bias_.prepare(context, reinterpret_cast<float*>(context.workspace())), 0};
    const HalfDenseOperands operands(context.input(kX).as<Half>(), depth_, weights);
    sweep_.run(context.pool(), context.inputs(), context.output(0).as_mutable<Half>(), operands,
               post_ops_);
    return {};
  }

 private:
  std::int64_t depth_;
  HalfSweep sweep_;
  Tensor packed_;
  TileBias bias_;
  TilePostOps post_ops_;
  FloatRegions regions_;
};

class HalfDense final : public SweptRoutine {
 public:
  HalfDense(std::string_view algorithm, int rank, const HalfTileOps& ops)
      : SweptRoutine("dense", fmt::format("cpu:float16/{}", algorithm), DataType::float16, rank),
        ops_(ops) {}

  ParamSpace param_space(const Problem& problem) const override {
    const HalfSweepShape shape = sweep_shape(problem);
    const std::int64_t weights = shape.length * shape.columns;
    return sweep_param_space(shape.rows > 1 ? weights * 2 : 0, shape.rows * weights);
  }

  Result<PackedWeights> pack(const Problem& problem, const RoutineParams&,
                             Allocator& allocator) const override {
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(problem.inputs[kWeights].value, allocator));
    const HalfSweepShape shape = sweep_shape(problem);
    PackedWeights packed;
    SN_ASSIGN_OR_RETURN(
        packed.bytes,
        Tensor::create(DataType::uint8, Shape{HalfSweep::packed_bytes(shape, ops_)}, allocator));
    SN_ASSIGN_OR_RETURN(Tensor panel, Tensor::create(DataType::float32,
                                                     Shape{shape.depth() * kHalfPanel}, allocator));
    const auto* const from = static_cast<const float*>(floats.data());
    const std::int64_t row = transposed(problem) ? 1 : shape.columns;
    const std::int64_t column = transposed(problem) ? shape.length : 1;
    HalfSweep::pack(
        shape, ops_, [&](std::int64_t k, std::int64_t j) { return from[k * row + j * column]; },
        static_cast<float*>(panel.mutable_data()),
        static_cast<std::byte*>(packed.bytes.mutable_data()));
    return packed;
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams& params,
                                         const PackedWeights& packed) const override {
    const HalfSweepShape shape = sweep_shape(problem);
    SN_ASSIGN_OR_RETURN(TileBias bias, TileBias::create(problem, kBias, 1, shape.columns));
    SN_ASSIGN_OR_RETURN(TilePostOps post_ops,
                        TilePostOps::create(problem, true, DataType::float16));
    return std::unique_ptr<Kernel>(std::make_unique<HalfDenseKernel>(
        shape, ops_, sweep_limits(params), packed, std::move(bias), std::move(post_ops)));
  }

 private:
  const HalfTileOps& ops_;
};

}  // namespace

std::unique_ptr<Routine> make_half_dense(std::string_view algorithm, int rank,
                                         const HalfTileOps& ops) {
  return std::make_unique<HalfDense>(algorithm, rank, ops);
}

}  // namespace softneuro
