#include "routines/dense/packed_dense.h"

#include "core/base/error.h"
#include "cpu/gemm/half_sweep.h"
#include "cpu/gemm/split_sweep.h"
#include "cpu/gemm/swept_layer.h"
#include "cpu/simd/float_span.h"
#include "routines/dense/dense_sizes.h"

namespace softneuro {
namespace {

PackedShape sweep_shape(const DenseSizes& sizes) {
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
  void point(const SweepRows& rows, const T** pointers, T*) const noexcept override {
    for (int r = 0; r < rows.rows; ++r) pointers[r] = x_ + (rows.row + r) * depth_;
  }

 private:
  const T* x_;
  std::int64_t depth_;
  PackedMatrix matrix_;
};

template <class Sweep>
class PackedDenseKernel final : public SweptKernel {
  using T = typename Sweep::Number;

 public:
  PackedDenseKernel(const PackedShape& shape, const typename Sweep::Ops& ops, int threads,
                    const SweepLimits& limits, SweptParts parts)
      : SweptKernel(std::move(parts)),
        depth_(shape.length),
        sweep_(shape, limits, ops, threads),
        sums_at_(reserve(sweep_.workspace_floats())) {}

  Status run(Context& context) const noexcept override {
    const PackedDenseOperands<T> operands(context.input(kSweptX).as<T>(), depth_,
                                          {weights(), prepare_bias(context), 0});
    sweep_.run(context.pool(), context.inputs(), context.output(0).as_mutable<T>(), operands,
               post_ops(), workspace_of(context) + sums_at_);
    return {};
  }

 private:
  std::int64_t depth_;
  Sweep sweep_;
  std::int64_t sums_at_;
};

template <class Sweep>
class PackedDense final : public SweptRoutine {
  using T = typename Sweep::Number;

 public:
  PackedDense(std::string_view algorithm, int rank, const typename Sweep::Ops& ops)
      : SweptRoutine("dense", descriptor_of(algorithm), data_type_of<T>(), rank), ops_(ops) {}

  int version() const override { return Sweep::kVersion; }
  DataType accumulator_type() const override { return Sweep::kAccumulator; }

  ParamSpace param_space(const Problem& problem) const override {
    const PackedShape shape = sweep_shape(DenseSizes(problem));
    const std::int64_t weights = shape.length * shape.columns;
    return sweep_param_space(Sweep::kKeepsWeights && shape.rows > 1 ? packed_bytes(shape, ops_) : 0,
                             shape.rows * weights);
  }

  std::optional<std::size_t> packed_size(const Problem& problem,
                                         const RoutineParams&) const override {
    return static_cast<std::size_t>(packed_bytes(sweep_shape(DenseSizes(problem)), ops_));
  }

  Result<PackedWeights> pack(const Problem& problem, const RoutineParams&,
                             Allocator& allocator) const override {
    SN_ASSIGN_OR_RETURN(const Tensor floats,
                        as_float32(problem.inputs[kSweptWeights].value, allocator));
    const DenseSizes sizes(problem);
    const PackedShape shape = sweep_shape(sizes);
    PackedWeights packed;
    SN_ASSIGN_OR_RETURN(
        packed.bytes, Tensor::create(DataType::uint8, Shape{packed_bytes(shape, ops_)}, allocator));
    SN_ASSIGN_OR_RETURN(
        Tensor panel,
        Tensor::create(DataType::float32, Shape{shape.depth() * kPackedPanel}, allocator));
    const auto* const from = static_cast<const float*>(floats.data());
    pack_product(
        shape, ops_,
        [&](std::int64_t first, std::int64_t columns, float* to) {
          pack_b(sizes.weights(from, first), sizes.depth, columns, to);
        },
        static_cast<float*>(panel.mutable_data()),
        static_cast<std::byte*>(packed.bytes.mutable_data()));
    return packed;
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams& params,
                                         const PackedWeights& packed) const override {
    const PackedShape shape = sweep_shape(DenseSizes(problem));
    SN_ASSIGN_OR_RETURN(SweptParts parts, make_parts(problem, packed, 1, shape.columns, true));
    return std::unique_ptr<Kernel>(std::make_unique<PackedDenseKernel<Sweep>>(
        shape, ops_, problem.threads, sweep_limits(params), std::move(parts)));
  }

 private:
  static std::string descriptor_of(std::string_view algorithm) {
    if constexpr (std::is_same_v<T, float>) return fmt::format("cpu/{}", algorithm);
    return fmt::format("cpu:{}/{}", to_string(data_type_of<T>()), algorithm);
  }

  const typename Sweep::Ops& ops_;
};

}  // namespace

template <class Sweep>
std::unique_ptr<Routine> make_packed_dense(std::string_view algorithm, int rank,
                                           const typename Sweep::Ops& ops) {
  return std::make_unique<PackedDense<Sweep>>(algorithm, rank, ops);
}

template std::unique_ptr<Routine> make_packed_dense<HalfSweep>(std::string_view, int,
                                                               const HalfSweep::Ops&);
template std::unique_ptr<Routine> make_packed_dense<SplitSweep<Half>>(std::string_view, int,
                                                                      const SplitTileOps<Half>&);
template std::unique_ptr<Routine> make_packed_dense<SplitSweep<float>>(std::string_view, int,
                                                                       const SplitTileOps<float>&);

}  // namespace softneuro
