#include "routines/dense/packed_dense.h"

#include "core/base/error.h"
#include "cpu/gemm/gemm_layer.h"
#include "cpu/gemm/half_gemm.h"
#include "cpu/gemm/split_precision_gemm.h"
#include "cpu/simd/float_span.h"
#include "routines/dense/dense_sizes.h"

namespace softneuro {
namespace {

PackedShape gemm_shape(const DenseSizes& sizes) {
  PackedShape shape;
  shape.rows = sizes.rows;
  shape.length = sizes.depth;
  shape.columns = sizes.columns;
  shape.c_row_stride = shape.columns;
  return shape;
}

template <class T>
class PackedDenseOperands final : public PackedOperands<T> {
 public:
  PackedDenseOperands(const T* x, std::int64_t depth, const PackedMatrix& matrix)
      : x_(x), depth_(depth), matrix_(matrix) {}
  PackedMatrix matrix(std::int64_t) const noexcept override { return matrix_; }
  void point(const GemmRows& rows, const T** pointers, T*) const noexcept override {
    for (int r = 0; r < rows.rows; ++r) pointers[r] = x_ + (rows.row + r) * depth_;
  }

 private:
  const T* x_;
  std::int64_t depth_;
  PackedMatrix matrix_;
};

template <class Gemm>
class PackedDenseKernel final : public GemmLayerKernel {
  using T = typename Gemm::Number;

 public:
  PackedDenseKernel(const PackedShape& shape, const typename Gemm::Ops& ops, int threads,
                    const GemmLimits& limits, GemmLayerParts parts)
      : GemmLayerKernel(std::move(parts)),
        depth_(shape.length),
        gemm_(shape, limits, ops, threads),
        sums_at_(reserve(gemm_.workspace_floats())) {}

  Status run(Context& context) const noexcept override {
    const PackedDenseOperands<T> operands(context.input(kGemmLayerX).as<T>(), depth_,
                                          {weights(), prepare_bias(context), 0});
    gemm_.run(context.pool(), context.inputs(), context.output(0).as_mutable<T>(), operands,
              post_ops(), workspace_of(context) + sums_at_);
    return {};
  }

 private:
  std::int64_t depth_;
  Gemm gemm_;
  std::int64_t sums_at_;
};

template <class Gemm>
class PackedDense final : public GemmLayerRoutine {
  using T = typename Gemm::Number;

 public:
  PackedDense(std::string_view algorithm, int rank, const typename Gemm::Ops& ops)
      : GemmLayerRoutine("dense", descriptor_of(algorithm), data_type_of<T>(), rank), ops_(ops) {}

  int version() const override { return Gemm::kVersion; }
  CpuFeatures needs() const override { return ops_.needs; }
  DataType accumulator_type() const override { return Gemm::kAccumulator; }

  ParamSpace param_space(const Problem& problem) const override {
    const PackedShape shape = gemm_shape(DenseSizes(problem));
    const std::int64_t weights = shape.length * shape.columns;
    return gemm_param_space(Gemm::kKeepsWeights && shape.rows > 1 ? product_bytes(shape, ops_) : 0,
                            shape.rows * weights);
  }

  Result<std::size_t> packed_bytes(const Problem& problem, const RoutineParams&) const override {
    return static_cast<std::size_t>(product_bytes(gemm_shape(DenseSizes(problem)), ops_));
  }
  Status pack(const Problem& problem, const RoutineParams&, Allocator& scratch,
              std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const Tensor floats,
                        as_float32(problem.inputs[kGemmLayerWeights].value, scratch));
    const DenseSizes sizes(problem);
    const PackedShape shape = gemm_shape(sizes);
    SN_ASSIGN_OR_RETURN(Tensor panel, Tensor::create(DataType::float32,
                                                     Shape{shape.depth() * kPackedPanel}, scratch));
    const auto* const from = static_cast<const float*>(floats.data());
    pack_product(
        shape, ops_,
        [&](std::int64_t first, std::int64_t columns, float* to) {
          pack_b(sizes.weights(from, first), sizes.depth, columns, to);
        },
        static_cast<float*>(panel.mutable_data()), packed);
    return {};
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams& params,
                                         const PackedWeights& packed) const override {
    const PackedShape shape = gemm_shape(DenseSizes(problem));
    SN_ASSIGN_OR_RETURN(GemmLayerParts parts, make_parts(problem, packed, 1, shape.columns, true));
    return std::unique_ptr<Kernel>(std::make_unique<PackedDenseKernel<Gemm>>(
        shape, ops_, problem.threads, gemm_limits(params), std::move(parts)));
  }

 private:
  static std::string descriptor_of(std::string_view algorithm) {
    if constexpr (std::is_same_v<T, float>) return fmt::format("cpu/{}", algorithm);
    return fmt::format("cpu:{}/{}", to_string(data_type_of<T>()), algorithm);
  }

  const typename Gemm::Ops& ops_;
};

}  // namespace

template <class Gemm>
std::unique_ptr<Routine> make_packed_dense(std::string_view algorithm, int rank,
                                           const typename Gemm::Ops& ops) {
  return std::make_unique<PackedDense<Gemm>>(algorithm, rank, ops);
}

template std::unique_ptr<Routine> make_packed_dense<HalfGemm>(std::string_view, int,
                                                              const HalfGemm::Ops&);
template std::unique_ptr<Routine> make_packed_dense<SplitPrecisionGemm<Half>>(
    std::string_view, int, const SplitTileOps<Half>&);
template std::unique_ptr<Routine> make_packed_dense<SplitPrecisionGemm<float>>(
    std::string_view, int, const SplitTileOps<float>&);

}  // namespace softneuro
