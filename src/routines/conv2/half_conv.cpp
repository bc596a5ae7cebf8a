#include "routines/conv2/half_conv.h"

#include <algorithm>

#include "core/error.h"
#include "core/float_span.h"
#include "core/gemm/half_sweep.h"
#include "core/gemm/swept_layer.h"
#include "routines/conv2/direct_conv.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

HalfSweepShape sweep_shape(const ConvGeometry& g, const ConvRows& rows) {
  HalfSweepShape shape;
  shape.matrices = g.batch * g.group;
  shape.rows = g.window.output_elements();
  shape.columns = g.out;
  shape.segments = rows.segments();
  shape.length = rows.length();
  shape.c_row_stride = g.channels_out();
  return shape;
}

class HalfConvOperands final : public HalfSweepOperands {
 public:
  HalfConvOperands(const ConvGeometry& geometry, const ConvRows& rows)
      : g_(geometry), rows_(rows) {}

  Matrix matrix(std::int64_t index) const noexcept override {
    const std::int64_t image = index / g_.group, group = index % g_.group;
    return {b + group * b_group_bytes, bias == nullptr ? nullptr : bias + group * bias_stride,
            image * g_.window.output_elements() * g_.channels_out() + group * g_.out};
  }
  void point(const SweepRows& rows, const Half** pointers, Half* scratch) const noexcept override {
    const std::int64_t image = rows.matrix / g_.group, group = rows.matrix % g_.group;
    rows_.point(rows, x + image * g_.window.input_elements() * g_.channels_in() + group * g_.in,
                zeros, pointers, scratch);
  }

  const Half* x = nullptr;
  const Half* zeros = nullptr;
  const std::byte* b = nullptr;
  const float* bias = nullptr;
  std::int64_t b_group_bytes = 0, bias_stride = 0;  // from group to group

 private:
  const ConvGeometry& g_;
  const ConvRows& rows_;
};

class HalfConvKernel final : public Kernel {
 public:
  HalfConvKernel(const ConvGeometry& geometry, const HalfTileOps& ops, const SweepLimits& limits,
                 const PackedWeights& packed, TileBias bias, TilePostOps post_ops)
      : g_(geometry),
        rows_(geometry, Layout::channels_last),
        sweep_(sweep_shape(g_, rows_), limits, ops),
        b_group_bytes_(HalfSweep::packed_bytes(sweep_shape(g_, rows_), ops)),
        packed_(packed.bytes),
        bias_(std::move(bias)),
        post_ops_(std::move(post_ops)) {
    if (rows_.needs_zeros()) zeros_at_ = regions_.add((rows_.length() + 1) / 2);
    bias_at_ = regions_.add(bias_.workspace_floats());
  }

  std::size_t workspace_bytes() const noexcept override { return regions_.bytes(); }
  int in_place_input() const noexcept override { return post_ops_.in_place_input(); }

  Status run(Context& context) const noexcept override {
    float* const workspace = reinterpret_cast<float*>(context.workspace());
    HalfConvOperands operands(g_, rows_);
    operands.x = context.input(kX).as<Half>();
    operands.b = static_cast<const std::byte*>(packed_.data());
    operands.b_group_bytes = b_group_bytes_;
    operands.bias = bias_.prepare(context, workspace + bias_at_);
    operands.bias_stride = bias_.stride();
    if (rows_.needs_zeros()) {
      Half* const zeros = reinterpret_cast<Half*>(workspace + zeros_at_);
      std::fill_n(zeros, rows_.length(), Half{});
      operands.zeros = zeros;
    }
    sweep_.run(context.pool(), context.inputs(), context.output(0).as_mutable<Half>(), operands,
               post_ops_);
    return {};
  }

 private:
  ConvGeometry g_;
  ConvRows rows_;
  HalfSweep sweep_;
  std::int64_t b_group_bytes_;
  Tensor packed_;
  TileBias bias_;
  TilePostOps post_ops_;
  FloatRegions regions_;
  std::int64_t zeros_at_ = 0, bias_at_ = 0;
};

class HalfConv final : public SweptRoutine {
 public:
  HalfConv(std::string_view layer_type, std::string_view algorithm, int rank,
           const HalfTileOps& ops)
      : SweptRoutine(layer_type, fmt::format("cpu:float16:nhwc/{}", algorithm), DataType::float16,
                     rank),
        ops_(ops) {}

  ParamSpace param_space(const Problem& problem) const override {
    return conv_sweep_space(problem, sizeof(Half));
  }

  Result<PackedWeights> pack(const Problem& problem, const RoutineParams&,
                             Allocator& allocator) const override {
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(problem.inputs[kWeights].value, allocator));
    SN_ASSIGN_OR_RETURN(const ConvGeometry g, conv_geometry(problem));
    const HalfSweepShape shape = sweep_shape(g, ConvRows(g, Layout::channels_last));
    const std::int64_t bytes = HalfSweep::packed_bytes(shape, ops_);
    PackedWeights packed;
    SN_ASSIGN_OR_RETURN(packed.bytes,
                        Tensor::create(DataType::uint8, Shape{g.group * bytes}, allocator));
    SN_ASSIGN_OR_RETURN(Tensor panel, Tensor::create(DataType::float32,
                                                     Shape{shape.depth() * kHalfPanel}, allocator));
    const std::int64_t taps = g.window.kernel_elements();
    const auto* from = static_cast<const float*>(floats.data());
    auto* to = static_cast<std::byte*>(packed.bytes.mutable_data());
    for (std::int64_t i = 0; i < g.group; ++i, from += g.out * g.in * taps, to += bytes)
      HalfSweep::pack(
          shape, ops_,
          [&](std::int64_t k, std::int64_t j) {  // a sum runs over taps, then channels
            return from[(j * g.in + k % g.in) * taps + k / g.in];
          },
          static_cast<float*>(panel.mutable_data()), to);
    return packed;
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams& params,
                                         const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
    SN_ASSIGN_OR_RETURN(TileBias bias,
                        TileBias::create(problem, kBias, geometry.group, geometry.out));
    SN_ASSIGN_OR_RETURN(TilePostOps post_ops,
                        TilePostOps::create(problem, true, DataType::float16));
    return std::unique_ptr<Kernel>(std::make_unique<HalfConvKernel>(
        geometry, ops_, sweep_limits(params), packed, std::move(bias), std::move(post_ops)));
  }

 private:
  const HalfTileOps& ops_;
};

}  // namespace

std::unique_ptr<Routine> make_half_conv(std::string_view layer_type, std::string_view algorithm,
                                        int rank, const HalfTileOps& ops) {
  return std::make_unique<HalfConv>(layer_type, algorithm, rank, ops);
}

}  // namespace softneuro
