#include "routines/dense/tiled_dense.h"

#include <algorithm>

#include "core/base/error.h"
#include "cpu/gemm/blocked_gemm.h"
#include "cpu/gemm/gemm_layer.h"
#include "cpu/simd/float_span.h"
#include "routines/dense/dense_sizes.h"

namespace softneuro {
namespace {

class DenseOperands final : public GemmOperands {
 public:
  DenseOperands(const float* x, std::int64_t depth, const Matrix& matrix)
      : x_(x), depth_(depth), matrix_(matrix) {}
  Matrix matrix(std::int64_t) const noexcept override { return matrix_; }
  void point(const GemmRows& rows, const float** pointers, float*) const noexcept override {
    for (int r = 0; r < rows.rows; ++r) pointers[r] = x_ + (rows.row + r) * depth_;
  }

 private:
  const float* x_;
  std::int64_t depth_;
  Matrix matrix_;
};

class TiledDenseKernel final : public GemmLayerKernel {
 public:
  TiledDenseKernel(const DenseSizes& sizes, DataType type, const GemmLimits& limits,
                   GemmLayerParts parts)
      : GemmLayerKernel(std::move(parts)),
        s_(sizes),
        type_(type),
        gemm_(shape(), limits, micro_kernels()) {
    if (type_ == DataType::float32) return;
    x_at_ = reserve(s_.rows * s_.depth);
    y_at_ = reserve(s_.rows * s_.columns);
  }

  Status run(Context& context) const noexcept override {
    const bool convert = type_ != DataType::float32;
    const float* x = context.input(kGemmLayerX).as<float>();
    float* y = context.output(0).as_mutable<float>();
    if (convert) {
      float* const converted = workspace_of(context) + x_at_;
      load_floats(context.pool(), type_, context.input(kGemmLayerX).data, converted,
                  s_.rows * s_.depth);
      x = converted;
      y = workspace_of(context) + y_at_;
    }
    const DenseOperands operands(x, s_.depth, {weights(), prepare_bias(context), 0});
    gemm_.run(context.pool(), context.inputs(), y, operands, post_ops());
    if (convert)
      store_floats(context.pool(), type_, y, context.output(0).data, s_.rows * s_.columns);
    return {};
  }

 private:
  GemmShape shape() const {
    GemmShape shape;
    shape.rows = s_.rows;
    shape.columns = s_.columns;
    shape.length = s_.depth;
    shape.c_row_stride = s_.columns;
    shape.half_weights = type_ != DataType::float32;
    return shape;
  }

  DenseSizes s_;
  DataType type_;  // of x and y
  BlockedGemm gemm_;
  std::int64_t x_at_ = 0, y_at_ = 0;
};

class TiledDense final : public GemmLayerRoutine {
 public:
  explicit TiledDense(DataType type)
      : GemmLayerRoutine("dense", type == DataType::float32 ? "cpu/tiled" : "cpu:float16/tiled",
                         type, type == DataType::float32 ? 30 : 5) {}

  ParamSpace param_space(const Problem& problem) const override {
    const DenseSizes sizes(problem);
    const std::int64_t weights = sizes.depth * sizes.columns;
    return gemm_param_space(sizes.rows > 1 ? weights * 4 : 0, sizes.rows * weights);
  }

  Result<std::size_t> packed_bytes(const Problem& problem, const RoutineParams&) const override {
    const DenseSizes s(problem);
    return static_cast<std::size_t>(gemm_panels(s.columns, kTilePanel) * s.depth * kTilePanel) *
           size_of(type());
  }
  Status pack(const Problem& problem, const RoutineParams&, Allocator& scratch,
              std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const Tensor floats,
                        as_float32(problem.inputs[kGemmLayerWeights].value, scratch));
    const DenseSizes s(problem);
    const std::int64_t panel = s.depth * kTilePanel;
    SN_ASSIGN_OR_RETURN(Tensor one, Tensor::create(DataType::float32, Shape{panel}, scratch));
    const auto* const from = static_cast<const float*>(floats.data());
    auto* const buffer = static_cast<float*>(one.mutable_data());
    std::byte* to = packed;
    for (std::int64_t p = 0; p < gemm_panels(s.columns, kTilePanel); ++p) {
      const std::int64_t column = p * kTilePanel;
      pack_b(s.weights(from, column), s.depth, std::min(kTilePanel, s.columns - column), buffer);
      float_spans().store(type(), buffer, to, panel);
      to += static_cast<std::size_t>(panel) * size_of(type());
    }
    return {};
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams& params,
                                         const PackedWeights& packed) const override {
    const DenseSizes sizes(problem);
    SN_ASSIGN_OR_RETURN(GemmLayerParts parts,
                        make_parts(problem, packed, 1, sizes.columns, type() == DataType::float32));
    return std::unique_ptr<Kernel>(
        std::make_unique<TiledDenseKernel>(sizes, type(), gemm_limits(params), std::move(parts)));
  }
};

}  // namespace

std::unique_ptr<Routine> make_tiled_dense(DataType type) {
  return std::make_unique<TiledDense>(type);
}

}  // namespace softneuro
