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
  int version() const final { return Gemm::kVersion; }
  DataType accumulator_type() const final { return Gemm::kAccumulator; }
  CpuFeatures needs() const final {
    if constexpr (requires(const Ops& ops) { ops.needs; })
      return ops_.needs;
    else
      return {};  // there are variants for every processor
  }

 protected:
  using Ops = typename Gemm::Ops;
  using T = typename Gemm::Number;

  // The routine cpu:<type><layout>/<algorithm>; `layout` begins with a colon, or is empty.
  PackedLayerRoutine(std::string_view layer_type, std::string_view layout,
                     std::string_view algorithm, int rank, const Ops& ops)
      : GemmLayerRoutine(
            layer_type, fmt::format("cpu:{}{}/{}", to_string(data_type_of<T>()), layout, algorithm),
            data_type_of<T>(), rank),
        ops_(ops) {}

  const Ops& ops() const { return ops_; }

  Result<std::size_t> products_bytes(std::int64_t count, const GemmShape& shape) const {
    return static_cast<std::size_t>(count * product_bytes(shape, ops_));
  }
  // Packs `count` products. fill(weights, product, first, columns, panel): see pack_product().
  template <class Fill>
  Status pack_products(const Problem& problem, std::int64_t count, const GemmShape& shape,
                       Allocator& scratch, std::byte* packed, Fill&& fill) const {
    SN_ASSIGN_OR_RETURN(const Tensor floats,
                        as_float32(problem.inputs[kGemmLayerWeights].value, scratch));
    SN_ASSIGN_OR_RETURN(Tensor panel, Tensor::create(DataType::float32,
                                                     Shape{shape.depth() * kTilePanel}, scratch));
    const auto* const weights = static_cast<const float*>(floats.data());
    for (std::int64_t i = 0; i < count; ++i)
      pack_product(
          shape, ops_,
          [&](std::int64_t first, std::int64_t columns, float* to) {
            fill(weights, i, first, columns, to);
          },
          static_cast<float*>(panel.mutable_data()), packed + i * product_bytes(shape, ops_));
    return {};
  }

  Result<GemmLayerParts> parts_of(const Problem& problem, const PackedWeights& packed,
                                  std::int64_t matrices, std::int64_t columns) const {
    return make_parts(problem, packed, matrices, columns,
                      std::is_same_v<T, typename Gemm::Operand>);
  }

 private:
  Ops ops_;
};

}  // namespace softneuro
