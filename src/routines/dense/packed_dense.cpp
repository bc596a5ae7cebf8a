#include "routines/dense/packed_dense.h"

#include "cpu/gemm/half_gemm.h"
#include "cpu/gemm/packed_layer.h"
#include "cpu/gemm/split_precision_gemm.h"
#include "routines/dense/dense_sizes.h"

namespace softneuro {
namespace {

GemmShape gemm_shape(const DenseSizes& sizes) {
  GemmShape shape;
  shape.rows = sizes.rows;
  shape.length = sizes.depth;
  shape.columns = sizes.columns;
  shape.c_row_stride = shape.columns;
  return shape;
}

template <class T>
class DenseOperands final : public GemmOperands<T> {
 public:
  explicit DenseOperands(std::int64_t depth) : depth_(depth) {}
  GemmMatrix matrix(std::int64_t) const noexcept override { return {b, bias, 0}; }
  void point(const GemmRows& rows, const T** pointers, T*) const noexcept override {
    for (int r = 0; r < rows.rows; ++r) pointers[r] = x + (rows.row + r) * depth_;
  }

  const T* x = nullptr;
  const std::byte* b = nullptr;
  const float* bias = nullptr;

 private:
  std::int64_t depth_;
};

template <class Gemm>
class PackedDenseKernel final : public PackedLayerKernel<Gemm> {
 public:
  PackedDenseKernel(const GemmShape& shape, const typename Gemm::Ops& ops, const GemmLimits& limits,
                    GemmLayerParts parts)
      : PackedLayerKernel<Gemm>(shape, ops, limits, shape.rows * shape.length,
                                shape.rows * shape.columns, std::move(parts)),
        depth_(shape.length) {}

  Status run(Context& context) const noexcept override {
    DenseOperands<typename Gemm::Operand> operands(depth_);
    this->multiply(context, operands);
    return {};
  }

 private:
  std::int64_t depth_;
};

template <class Gemm>
class PackedDenseImplementation final : public PackedLayerImplementation<Gemm> {
 public:
  PackedDenseImplementation(ProblemPtr problem, const RoutineContext& context,
                            const typename Gemm::Ops& ops, const DenseSizes& sizes)
      : PackedLayerImplementation<Gemm>(std::move(problem), context, ops, 1, gemm_shape(sizes)),
        sizes_(sizes) {}

  ParamSpace param_space() const override {
    const std::int64_t weights = sizes_.depth * sizes_.columns;
    return gemm_param_space(sizes_.rows > 1 ? weights * Gemm::kReusedBytes : 0,
                            sizes_.rows * weights);
  }

 protected:
  void fill(const float* weights, std::int64_t, std::int64_t first, std::int64_t columns,
            float* panel) const noexcept override {
    pack_b(sizes_.weights(weights, first), sizes_.depth, columns, panel);
  }
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(GemmLayerParts parts, this->parts_of(packed, 1, sizes_.columns));
    return make_kernel<PackedDenseKernel<Gemm>>(this->shape(), this->ops(), this->limits(params),
                                                std::move(parts));
  }

 private:
  DenseSizes sizes_;
};

template <class Gemm>
class PackedDense final : public PackedLayerRoutine<Gemm> {
 public:
  PackedDense(std::string_view algorithm, int rank, const typename Gemm::Ops& ops)
      : PackedLayerRoutine<Gemm>("dense", "", algorithm, rank, ops) {}

 protected:
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    const DenseSizes sizes(*problem);
    return make_implementation_of<PackedDenseImplementation<Gemm>>(std::move(problem), context,
                                                                   this->ops(), sizes);
  }
};

}  // namespace

template <class Gemm>
std::unique_ptr<Routine> make_packed_dense(std::string_view algorithm, int rank,
                                           const typename Gemm::Ops& ops) {
  return std::make_unique<PackedDense<Gemm>>(algorithm, rank, ops);
}

template std::unique_ptr<Routine> make_packed_dense<TiledGemm<float>>(std::string_view, int,
                                                                      const TileOps<float>&);
template std::unique_ptr<Routine> make_packed_dense<TiledGemm<Half>>(std::string_view, int,
                                                                     const TileOps<Half>&);
template std::unique_ptr<Routine> make_packed_dense<TiledGemm<BFloat16>>(std::string_view, int,
                                                                         const TileOps<float>&);
template std::unique_ptr<Routine> make_packed_dense<HalfGemm<Half>>(std::string_view, int,
                                                                    const HalfTileOps<Half>&);
template std::unique_ptr<Routine> make_packed_dense<HalfGemm<BFloat16>>(
    std::string_view, int, const HalfTileOps<BFloat16>&);
template std::unique_ptr<Routine> make_packed_dense<SplitPrecisionGemm<Half>>(
    std::string_view, int, const SplitTileOps<Half>&);
template std::unique_ptr<Routine> make_packed_dense<SplitPrecisionGemm<BFloat16>>(
    std::string_view, int, const SplitTileOps<BFloat16>&);
template std::unique_ptr<Routine> make_packed_dense<SplitPrecisionGemm<float>>(
    std::string_view, int, const SplitTileOps<float>&);

}  // namespace softneuro
