#include "routines/conv2/direct_conv.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/isa_variants.h"
#include "cpu/gemm/gemm.h"
#include "cpu/gemm/gemm_layer.h"
#include "cpu/simd/float_span.h"

namespace softneuro {
namespace {

// The best kernels whose vectors fit into the layout's blocks.
const MicroKernels& kernels_for(Layout layout) {
  const std::int64_t block = block_of(layout);
  const MicroKernels* best = nullptr;
  for (const IsaSet& set : kIsaSets)
    if (set.is_variant && usable_features().has(set.needs))
      if (const MicroKernels& kernels = micro_kernels(set.needs);
          block == 1 || kernels.lanes <= block)
        best = &kernels;
  return *best;  // those of the plain processor fit always
}

ConvGeometry weights_geometry(const Problem& problem) {
  const Shape& w = problem.inputs[kGemmLayerWeights].shape;
  ConvGeometry g;
  g.group = problem.params.integer("group", 1);
  g.in = w[1];
  g.out = w[0] / g.group;
  return g;
}

// Input channels as they are stored: of a blocked layout, whole blocks.
std::int64_t stored_channels(std::int64_t channels, Layout layout) {
  const std::int64_t block = block_of(layout);
  return (channels + block - 1) / block * block;
}

std::int64_t element_bytes(DataType type) {
  return static_cast<std::int64_t>(size_of(type));
}

// The weights of one group: [out, in, taps] → panels, where a column's sum runs over taps, then
// channels.
void pack_group(const float* weights, std::int64_t out, std::int64_t in, std::int64_t taps,
                std::int64_t stored_in, float* to) noexcept {
  for (std::int64_t first = 0; first < out; first += kTilePanel)
    for (std::int64_t t = 0; t < taps; ++t)
      for (std::int64_t c = 0; c < stored_in; ++c, to += kTilePanel)
        for (std::int64_t j = 0; j < kTilePanel; ++j)
          to[j] = c < in && first + j < out ? weights[((first + j) * in + c) * taps + t] : 0.0f;
}

class DirectConvOperands final : public GemmOperands {
 public:
  DirectConvOperands(const ConvRows& rows, std::int64_t groups) : rows_(rows), groups_(groups) {}

  Matrix matrix(std::int64_t index) const noexcept override {
    const std::int64_t image = index / groups_, group = index % groups_;
    return {b + group * b_group_bytes, bias == nullptr ? nullptr : bias + group * bias_stride,
            image * c_image + group * c_group};
  }
  void point(const GemmRows& rows, const float** pointers, float* scratch) const noexcept override {
    const std::int64_t image = rows.matrix / groups_, group = rows.matrix % groups_;
    rows_.point(rows, x + image * x_image + group * x_group, zeros, pointers, scratch);
  }

  const float* x = nullptr;
  const float* zeros = nullptr;
  const std::byte* b = nullptr;
  const float* bias = nullptr;
  std::int64_t b_group_bytes = 0, bias_stride = 0;  // from group to group
  std::int64_t x_image = 0, x_group = 0, c_image = 0, c_group = 0;

 private:
  const ConvRows& rows_;
  std::int64_t groups_;
};

class DirectConvKernel final : public GemmLayerKernel {
 public:
  DirectConvKernel(const ConvGeometry& geometry, DataType type, Layout layout,
                   const GemmLimits& limits, GemmLayerParts parts)
      : GemmLayerKernel(std::move(parts)),
        g_(geometry),
        type_(type),
        layout_(layout),
        rows_(geometry, layout),
        gemm_(shape(), limits, kernels_for(layout)) {
    if (rows_.needs_zeros()) zeros_at_ = reserve(rows_.length());
    x_image_ = stored_channels(g_.channels_in(), layout_) * g_.window.input_elements();
    c_image_ = stored_channels(g_.channels_out(), layout_) * g_.window.output_elements();
    if (type_ == DataType::float32) return;
    x_at_ = reserve(g_.batch * x_image_);
    c_at_ = reserve(g_.batch * c_image_);
  }

  Status run(Context& context) const noexcept override {
    float* const workspace = workspace_of(context);
    const std::int64_t inputs = g_.window.input_elements();
    const std::int64_t outputs = g_.window.output_elements();
    const bool blocked = block_of(layout_) > 1;
    DirectConvOperands operands(rows_, g_.group);
    operands.x = context.input(kGemmLayerX).as<float>();
    float* c = context.output(0).as_mutable<float>();
    if (type_ != DataType::float32) {
      load_floats(context.pool(), type_, context.input(kGemmLayerX).data, workspace + x_at_,
                  g_.batch * x_image_);
      operands.x = workspace + x_at_;
      c = workspace + c_at_;
    }
    operands.b = weights();
    operands.b_group_bytes =
        packed_b_floats(rows_.segments() * rows_.length(), g_.out) * element_bytes(type_);
    operands.bias = prepare_bias(context);
    operands.bias_stride = bias_stride();
    operands.x_image = x_image_;
    operands.c_image = c_image_;
    operands.x_group = blocked ? g_.in * inputs : g_.in;
    operands.c_group = blocked ? g_.out * outputs : g_.out;
    if (rows_.needs_zeros()) {
      std::fill_n(workspace + zeros_at_, rows_.length(), 0.0f);
      operands.zeros = workspace + zeros_at_;
    }
    gemm_.run(context.pool(), context.inputs(), c, operands, post_ops());
    if (type_ != DataType::float32)
      store_floats(context.pool(), type_, c, context.output(0).data, g_.batch * c_image_);
    return {};
  }

 private:
  GemmShape shape() const {
    const std::int64_t outputs = g_.window.output_elements();
    const std::int64_t block = block_of(layout_);
    GemmShape shape;
    shape.matrices = g_.batch * g_.group;
    shape.rows = outputs;
    shape.columns = g_.out;
    shape.segments = rows_.segments();
    shape.length = rows_.length();
    shape.c_row_stride = block == 1 ? g_.channels_out() : block;
    shape.c_block = block == 1 ? 0 : block;
    shape.c_block_stride = outputs * block;
    shape.half_weights = type_ != DataType::float32;
    return shape;
  }

  ConvGeometry g_;
  DataType type_;  // of x, y and the packed weights
  Layout layout_;
  ConvRows rows_;
  BlockedGemm gemm_;
  std::int64_t zeros_at_ = 0, x_at_ = 0, c_at_ = 0;
  std::int64_t x_image_ = 0, c_image_ = 0;  // elements of one image
};

class DirectConv final : public GemmLayerRoutine {
 public:
  DirectConv(std::string_view layer_type, DataType type, Layout layout)
      : GemmLayerRoutine(layer_type,
                         fmt::format("cpu:{}:{}/direct", to_string(type), to_string(layout)), type,
                         30),
        layout_(layout) {}

  Applicability applicable(const Problem& problem) const override {
    if (Applicability taken = GemmLayerRoutine::applicable(problem); !taken) return taken;
    const ConvGeometry g = weights_geometry(problem);
    const std::int64_t block = block_of(layout_);
    if (g.group > 1 && (g.in % block != 0 || g.out % block != 0))
      return Applicability::no(fmt::format("groups of {} and {} channels are no whole blocks of {}",
                                           g.in, g.out, block));
    return Applicability::yes();
  }

  bool supports_post_ops(const Problem& problem) const override {
    return type() == DataType::float32 ? PostOpProgram::supports(problem).ok()
                                       : GemmLayerRoutine::supports_post_ops(problem);
  }

  ParamSpace param_space(const Problem& problem) const override {
    return conv_gemm_space(problem, sizeof(float));
  }

  Result<std::size_t> packed_bytes(const Problem& problem, const RoutineParams&) const override {
    const Shape& weights = problem.inputs[kGemmLayerWeights].shape;
    const ConvGeometry g = weights_geometry(problem);
    return static_cast<std::size_t>(g.group * group_floats(g, weights) * element_bytes(type()));
  }
  Status pack(const Problem& problem, const RoutineParams&, Allocator& scratch,
              std::byte* packed) const override {
    const TensorSpec& weights = problem.inputs[kGemmLayerWeights];
    SN_ASSIGN_OR_RETURN(const Tensor floats, as_float32(weights.value, scratch));
    const ConvGeometry g = weights_geometry(problem);
    const std::int64_t taps = weights.shape.elements(2, weights.shape.rank());
    const std::int64_t stored_in = stored_channels(g.in, layout_);
    const std::int64_t count = group_floats(g, weights.shape);
    Tensor converted;  // one group, on its way to another type
    if (type() != DataType::float32) {
      SN_ASSIGN_OR_RETURN(converted, Tensor::create(DataType::float32, Shape{count}, scratch));
    }
    const auto* const from = static_cast<const float*>(floats.data());
    std::byte* to = packed;
    for (std::int64_t i = 0; i < g.group; ++i, to += count * element_bytes(type())) {
      void* const group = converted.empty() ? to : converted.mutable_data();
      pack_group(from + i * g.out * g.in * taps, g.out, g.in, taps, stored_in,
                 static_cast<float*>(group));
      if (!converted.empty())
        float_spans().store(type(), static_cast<const float*>(group), to, count);
    }
    return {};
  }

  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams& params,
                                         const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(problem));
    SN_ASSIGN_OR_RETURN(
        GemmLayerParts parts,
        make_parts(problem, packed, geometry.group, geometry.out, type() == DataType::float32));
    return std::unique_ptr<Kernel>(std::make_unique<DirectConvKernel>(
        geometry, type(), layout_, gemm_limits(params), std::move(parts)));
  }

 private:
  // Of the packed weights of one group.
  std::int64_t group_floats(const ConvGeometry& g, const Shape& weights) const {
    return packed_b_floats(stored_channels(g.in, layout_) * weights.elements(2, weights.rank()),
                           g.out);
  }

  Layout layout_;
};

}  // namespace

ParamSpace conv_gemm_space(const Problem& problem, std::int64_t element_bytes) {
  const Shape& w = problem.inputs[kGemmLayerWeights].shape;
  const std::int64_t group_bytes =
      w.elements() / problem.params.integer("group", 1) * element_bytes;
  return gemm_param_space(group_bytes,
                          problem.outputs[0].shape.elements() * w.elements(1, w.rank()));
}

std::unique_ptr<Routine> make_direct_conv(std::string_view layer_type, DataType type,
                                          Layout layout) {
  return std::make_unique<DirectConv>(layer_type, type, layout);
}

}  // namespace softneuro
