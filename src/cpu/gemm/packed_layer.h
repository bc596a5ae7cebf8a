// Layers whose constant weights are packed for a Gemm: TiledGemm, HalfGemm or SplitPrecisionGemm.
#pragma once

#include "core/base/error.h"
#include "cpu/gemm/gemm_layer.h"

namespace softneuro {

// Keeps the product; its layer's run() names the operands.
template <class Gemm>
class PackedLayerKernel : public GemmLayerKernel {
 protected:
  using T = typename Gemm::Number;   // of x and y
  using A = typename Gemm::Operand;  // of A and C

  // x and y of so many elements are converted where they are not what the product takes.
  PackedLayerKernel(const GemmShape& shape, const typename Gemm::Ops& ops, const GemmLimits& limits,
                    std::int64_t x, std::int64_t y, GemmLayerParts parts)
      : GemmLayerKernel(std::move(parts)),
        gemm_(shape, limits, ops),
        x_count_(x),
        y_count_(y),
        sums_at_(reserve(gemm_.workspace_floats())) {
    if constexpr (kConverts) {
      x_at_ = reserve(x_count_);
      y_at_ = reserve(y_count_);
    }
  }

  // Sets x, b and bias of the operands.
  template <class Operands>
  void multiply(const Context& context, Operands& operands) const noexcept {
    float* const workspace = workspace_of(context);
    const TensorView &x = context.input(kGemmLayerX), &y = context.output(0);
    A* c = y.as_mutable<A>();
    operands.x = x.as<A>();
    operands.b = weights();
    operands.bias = prepare_bias(context);
    if constexpr (kConverts) {
      load_floats(context.pool(), data_type_of<T>(), x.data, workspace + x_at_, x_count_);
      operands.x = workspace + x_at_;
      c = workspace + y_at_;
    }
    gemm_.run(context.pool(), context.inputs(), c, operands, post_ops(), workspace + sums_at_);
    if constexpr (kConverts) store_floats(context.pool(), data_type_of<T>(), c, y.data, y_count_);
  }

 private:
  static constexpr bool kConverts = !std::is_same_v<T, A>;

  Gemm gemm_;
  std::int64_t x_count_, y_count_, sums_at_, x_at_ = 0, y_at_ = 0;
};

template <class Gemm>
class PackedLayerRoutine : public GemmLayerRoutine {
 public:
  RoutineFacts facts() const final {
    RoutineFacts facts = {
        .default_rank = rank_, .version = Gemm::kVersion, .accumulator = Gemm::kAccumulator};
    // Without `needs` there are variants for every processor.
    if constexpr (requires(const Ops& ops) { ops.needs; }) facts.needs = ops_.needs;
    return facts;
  }

 protected:
  using Ops = typename Gemm::Ops;

  // The routine cpu:<type><layout>/<algorithm>; `layout` begins with a colon, or is empty.
  PackedLayerRoutine(std::string_view layer_type, std::string_view layout,
                     std::string_view algorithm, int rank, const Ops& ops)
      : GemmLayerRoutine(
            layer_type, fmt::format("cpu:{}{}/{}", to_string(data_type_of<typename Gemm::Number>()),
                                    layout, algorithm)),
        rank_(rank),
        ops_(ops) {}

  const Ops& ops() const { return ops_; }

 private:
  int rank_;
  Ops ops_;
};

// `count` products of one shape.
template <class Gemm>
class PackedLayerImplementation : public GemmLayerImplementation {
 public:
  using Ops = typename Gemm::Ops;

  PackedLayerImplementation(ProblemPtr problem, const RoutineContext& context, const Ops& ops,
                            std::int64_t count, const GemmShape& shape)
      : GemmLayerImplementation(std::move(problem), context),
        ops_(ops),
        count_(count),
        shape_(shape) {}

  Result<Packing> packing(const RoutineParams&) const override {
    return Packing{static_cast<std::size_t>(count_ * product_bytes(shape_, ops_)), {}};
  }
  Status pack(const RoutineParams&, Allocator& scratch, std::byte* packed) const final {
    SN_ASSIGN_OR_RETURN(const Tensor floats,
                        as_float32(problem().inputs[kGemmLayerWeights].value, scratch));
    SN_ASSIGN_OR_RETURN(Tensor panel, Tensor::create(DataType::float32,
                                                     Shape{shape_.depth() * kTilePanel}, scratch));
    const auto* const weights = static_cast<const float*>(floats.data());
    for (std::int64_t i = 0; i < count_; ++i)
      pack_product(
          shape_, ops_,
          [&](std::int64_t first, std::int64_t columns, float* to) {
            fill(weights, i, first, columns, to);
          },
          static_cast<float*>(panel.mutable_data()), packed + i * product_bytes(shape_, ops_));
    return {};
  }

 protected:
  const Ops& ops() const { return ops_; }
  std::int64_t count() const { return count_; }
  const GemmShape& shape() const { return shape_; }
  // Weights of `columns` columns of one product, from `first` on: see pack_product().
  virtual void fill(const float* weights, std::int64_t product, std::int64_t first,
                    std::int64_t columns, float* panel) const noexcept = 0;
  Result<GemmLayerParts> parts_of(const PackedWeights& packed, std::int64_t matrices,
                                  std::int64_t columns) const {
    return make_parts(packed, matrices, columns,
                      std::is_same_v<typename Gemm::Number, typename Gemm::Operand>);
  }

 private:
  Ops ops_;
  std::int64_t count_;
  GemmShape shape_;
};

}  // namespace softneuro
