#include "routines/conv2/packed_conv.h"

#include <algorithm>

#include "core/base/error.h"
#include "cpu/gemm/gemm_layer.h"
#include "cpu/gemm/half_gemm.h"
#include "cpu/gemm/split_precision_gemm.h"
#include "cpu/simd/float_span.h"
#include "routines/conv2/direct_conv.h"

namespace softneuro {
namespace {

// weights: [columns, in, taps]; a sum runs over taps, then channels.
void fill_panel(const float* weights, std::int64_t columns, std::int64_t in, std::int64_t taps,
                float* to) noexcept {
  for (std::int64_t t = 0; t < taps; ++t)
    for (std::int64_t c = 0; c < in; ++c, to += kPackedPanel)
      for (std::int64_t j = 0; j < columns; ++j) to[j] = weights[(j * in + c) * taps + t];
}

PackedShape gemm_shape(const ConvGeometry& g, const ConvRows& rows) {
  PackedShape shape;
  shape.matrices = g.batch * g.group;
  shape.rows = g.window.output_elements();
  shape.columns = g.out;
  shape.segments = rows.segments();
  shape.length = rows.length();
  shape.c_row_stride = g.channels_out();
  return shape;
}

template <class T>
class PackedConvOperands final : public PackedOperands<T> {
 public:
  PackedConvOperands(const ConvGeometry& geometry, const ConvRows& rows)
      : g_(geometry), rows_(rows) {}

  PackedMatrix matrix(std::int64_t index) const noexcept override {
    const std::int64_t image = index / g_.group, group = index % g_.group;
    return {b + group * b_group_bytes, bias == nullptr ? nullptr : bias + group * bias_stride,
            image * g_.window.output_elements() * g_.channels_out() + group * g_.out};
  }
  void point(const GemmRows& rows, const T** pointers, T* scratch) const noexcept override {
    const std::int64_t image = rows.matrix / g_.group, group = rows.matrix % g_.group;
    rows_.point(rows, x + image * g_.window.input_elements() * g_.channels_in() + group * g_.in,
                zeros, pointers, scratch);
  }

  const T* x = nullptr;
  const T* zeros = nullptr;
  const std::byte* b = nullptr;
  const float* bias = nullptr;
  std::int64_t b_group_bytes = 0, bias_stride = 0;  // from group to group

 private:
  const ConvGeometry& g_;
  const ConvRows& rows_;
};

template <class Gemm>
class PackedConvKernel final : public GemmLayerKernel {
  using T = typename Gemm::Number;

 public:
  PackedConvKernel(const ConvGeometry& geometry, const typename Gemm::Ops& ops, int threads,
                   const GemmLimits& limits, GemmLayerParts parts)
      : GemmLayerKernel(std::move(parts)),
        g_(geometry),
        rows_(geometry, Layout::channels_last),
        gemm_(gemm_shape(g_, rows_), limits, ops, threads),
        b_group_bytes_(product_bytes(gemm_shape(g_, rows_), ops)) {
    if (rows_.needs_zeros()) zeros_at_ = reserve(rows_.length());
    sums_at_ = reserve(gemm_.workspace_floats());
  }

  Status run(Context& context) const noexcept override {
    float* const workspace = workspace_of(context);
    PackedConvOperands<T> operands(g_, rows_);
    operands.x = context.input(kGemmLayerX).as<T>();
    operands.b = weights();
    operands.b_group_bytes = b_group_bytes_;
    operands.bias = prepare_bias(context);
    operands.bias_stride = bias_stride();
    if (rows_.needs_zeros()) {
      T* const zeros = reinterpret_cast<T*>(workspace + zeros_at_);
      std::fill_n(zeros, rows_.length(), T{});
      operands.zeros = zeros;
    }
    gemm_.run(context.pool(), context.inputs(), context.output(0).as_mutable<T>(), operands,
              post_ops(), workspace + sums_at_);
    return {};
  }

 private:
  ConvGeometry g_;
  ConvRows rows_;
  Gemm gemm_;
  std::int64_t b_group_bytes_;
  std::int64_t zeros_at_ = 0, sums_at_ = 0;
};

template <class Gemm>
class PackedConv final : public GemmLayerRoutine {
  using T = typename Gemm::Number;

 public:
  PackedConv(std::string_view layer_type, std::string_view algorithm, int rank,
             const typename Gemm::Ops& ops)
      : GemmLayerRoutine(layer_type,
                         fmt::format("cpu:{}:nhwc/{}", to_string(data_type_of<T>()), algorithm),
                         data_type_of<T>(), rank),
        ops_(ops) {}

  int version() const override { return Gemm::kVersion; }
  CpuFeatures needs() const override { return ops_.needs; }
  DataType accumulator_type() const override { return Gemm::kAccumulator; }

  ParamSpace param_space(const Problem& problem) const override {
    return conv_gemm_space(problem, Gemm::kKeepsWeights ? sizeof(T) : 0);
  }

  Result<std::size_t> packed_bytes(const Problem& problem, const RoutineParams&) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(problem));
    const PackedShape shape = gemm_shape(g, ConvRows(g, Layout::channels_last));
    return static_cast<std::size_t>(g.group * product_bytes(shape, ops_));
  }
  Status pack(const Problem& problem, const RoutineParams&, Allocator& scratch,
              std::byte* packed) const override {
    SN_ASSIGN_OR_RETURN(const Tensor floats,
                        as_float32(problem.inputs[kGemmLayerWeights].value, scratch));
    SN_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(problem));
    const PackedShape shape = gemm_shape(g, ConvRows(g, Layout::channels_last));
    const std::int64_t bytes = product_bytes(shape, ops_);
    SN_ASSIGN_OR_RETURN(Tensor panel, Tensor::create(DataType::float32,
                                                     Shape{shape.depth() * kPackedPanel}, scratch));
    const std::int64_t taps = g.window.kernel_elements();
    const auto* from = static_cast<const float*>(floats.data());
    for (std::int64_t i = 0; i < g.group; ++i, from += g.out * g.in * taps)
      pack_product(
          shape, ops_,
          [&](std::int64_t first, std::int64_t columns, float* panel_floats) {
            fill_panel(from + first * g.in * taps, columns, g.in, taps, panel_floats);
          },
          static_cast<float*>(panel.mutable_data()), packed + i * bytes);
    return {};
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams& params,
                                         const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
    SN_ASSIGN_OR_RETURN(GemmLayerParts parts,
                        make_parts(problem, packed, geometry.group, geometry.out, true));
    return std::unique_ptr<Kernel>(std::make_unique<PackedConvKernel<Gemm>>(
        geometry, ops_, problem.threads, gemm_limits(params), std::move(parts)));
  }

 private:
  const typename Gemm::Ops& ops_;
};

}  // namespace

template <class Gemm>
std::unique_ptr<Routine> make_packed_conv(std::string_view layer_type, std::string_view algorithm,
                                          int rank, const typename Gemm::Ops& ops) {
  return std::make_unique<PackedConv<Gemm>>(layer_type, algorithm, rank, ops);
}

template std::unique_ptr<Routine> make_packed_conv<HalfGemm>(std::string_view, std::string_view,
                                                             int, const HalfGemm::Ops&);
template std::unique_ptr<Routine> make_packed_conv<SplitPrecisionGemm<Half>>(
    std::string_view, std::string_view, int, const SplitTileOps<Half>&);
template std::unique_ptr<Routine> make_packed_conv<SplitPrecisionGemm<float>>(
    std::string_view, std::string_view, int, const SplitTileOps<float>&);

}  // namespace softneuro
