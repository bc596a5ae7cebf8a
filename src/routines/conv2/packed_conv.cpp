#include "routines/conv2/packed_conv.h"

#include <algorithm>

#include "cpu/gemm/half_gemm.h"
#include "cpu/gemm/packed_layer.h"
#include "cpu/gemm/split_precision_gemm.h"
#include "cpu/simd/transpose_tiles.h"
#include "routines/conv2/conv_rows.h"

namespace softneuro {
namespace {

// Channels as they are stored: of a blocked layout, whole blocks.
std::int64_t stored_channels(std::int64_t channels, Layout layout) {
  const std::int64_t block = block_of(layout);
  return (channels + block - 1) / block * block;
}

// weights: [columns, in, taps]; a sum runs over taps, then channels as they are stored.
void fill_panel(const float* weights, std::int64_t columns, std::int64_t in, std::int64_t taps,
                std::int64_t stored_in, float* to) noexcept {
  const TransposeTiles& moves = transpose_tiles();
  if (taps == 1) {
    moves.transpose(sizeof(float), {weights, to, in, kTilePanel, columns, in});
  } else {
    for (std::int64_t c = 0; c < in; ++c)
      moves.transpose(sizeof(float), {weights + c * taps, to + c * kTilePanel, in * taps,
                                      stored_in * kTilePanel, columns, taps});
  }
  for (std::int64_t t = 0; t < taps; ++t)
    for (std::int64_t c = in; c < stored_in; ++c)
      std::fill_n(to + (t * stored_in + c) * kTilePanel, columns, 0.0f);
}

GemmShape gemm_shape(const ConvGeometry& g, const ConvRows& rows, Layout layout) {
  const std::int64_t block = block_of(layout);
  GemmShape shape;
  shape.matrices = g.batch * g.group;
  shape.rows = g.window.output_elements();
  shape.columns = g.out;
  shape.segments = rows.segments();
  shape.length = rows.length();
  shape.c_row_stride = block == 1 ? g.channels_out() : block;
  shape.c_block = block == 1 ? 0 : block;
  shape.c_block_stride = shape.rows * block;
  return shape;
}

template <class T>
class ConvOperands final : public GemmOperands<T> {
 public:
  ConvOperands(const ConvRows& rows, std::int64_t groups) : rows_(rows), groups_(groups) {}

  GemmMatrix matrix(std::int64_t index) const noexcept override {
    const std::int64_t image = index / groups_, group = index % groups_;
    return {b + group * b_group, bias == nullptr ? nullptr : bias + group * bias_group,
            image * c_image + group * c_group};
  }
  void point(const GemmRows& rows, const T** pointers, T* scratch) const noexcept override {
    const std::int64_t image = rows.matrix / groups_, group = rows.matrix % groups_;
    rows_.point(rows, x + image * x_image + group * x_group, zeros, pointers, scratch);
  }

  const T* x = nullptr;
  const T* zeros = nullptr;
  const std::byte* b = nullptr;
  const float* bias = nullptr;
  // From group to group, and from image to image.
  std::int64_t b_group = 0, bias_group = 0, x_group = 0, c_group = 0;
  std::int64_t x_image = 0, c_image = 0;

 private:
  const ConvRows& rows_;
  std::int64_t groups_;
};

template <class Gemm>
class PackedConvKernel final : public PackedLayerKernel<Gemm> {
  using A = typename Gemm::Operand;

 public:
  PackedConvKernel(const ConvGeometry& geometry, Layout layout, const typename Gemm::Ops& ops,
                   const GemmLimits& limits, GemmLayerParts parts)
      : PackedConvKernel(geometry, layout, ConvRows(geometry, layout), ops, limits,
                         std::move(parts)) {}

  Status run(Context& context) const noexcept override {
    ConvOperands<A> operands(rows_, g_.group);
    operands.b_group = b_group_;
    operands.bias_group = this->bias_stride();
    operands.x_image = x_image_;
    operands.c_image = c_image_;
    const bool blocked = block_of(layout_) > 1;
    operands.x_group = blocked ? g_.in * g_.window.input_elements() : g_.in;
    operands.c_group = blocked ? g_.out * g_.window.output_elements() : g_.out;
    if (rows_.needs_zeros()) {
      A* const zeros = reinterpret_cast<A*>(this->workspace_of(context) + zeros_at_);
      std::fill_n(zeros, rows_.length(), A{});
      operands.zeros = zeros;
    }
    this->multiply(context, operands);
    return {};
  }

 private:
  PackedConvKernel(const ConvGeometry& g, Layout layout, ConvRows rows,
                   const typename Gemm::Ops& ops, const GemmLimits& limits, GemmLayerParts parts)
      : PackedLayerKernel<Gemm>(
            gemm_shape(g, rows, layout), ops, limits,
            g.batch * stored_channels(g.channels_in(), layout) * g.window.input_elements(),
            g.batch * stored_channels(g.channels_out(), layout) * g.window.output_elements(),
            std::move(parts)),
        g_(g),
        layout_(layout),
        rows_(std::move(rows)),
        b_group_(product_bytes(gemm_shape(g, rows_, layout), ops)),
        x_image_(stored_channels(g.channels_in(), layout) * g.window.input_elements()),
        c_image_(stored_channels(g.channels_out(), layout) * g.window.output_elements()) {
    if (rows_.needs_zeros()) zeros_at_ = this->reserve(rows_.length());
  }

  ConvGeometry g_;
  Layout layout_ = Layout::plain;
  ConvRows rows_;
  std::int64_t b_group_ = 0, x_image_ = 0,
               c_image_ = 0;  // bytes of a group's weights; elements of an image
  std::int64_t zeros_at_ = 0;
};

template <class Gemm>
class PackedConvImplementation final : public PackedLayerImplementation<Gemm> {
 public:
  PackedConvImplementation(ProblemPtr problem, const RoutineContext& context,
                           const typename Gemm::Ops& ops, const ConvGeometry& g, Layout layout)
      : PackedLayerImplementation<Gemm>(std::move(problem), context, ops, g.group,
                                        gemm_shape(g, ConvRows(g, layout), layout)),
        g_(g),
        layout_(layout) {}

  double speed() const override { return filled_panel(this->problem()); }
  ParamSpace param_space() const override {
    const Shape& w = this->problem().inputs[kGemmLayerWeights].shape;
    return gemm_param_space(w.elements() / g_.group * Gemm::kReusedBytes,
                            this->problem().outputs[0].shape.elements() * w.elements(1, w.rank()));
  }

 protected:
  void fill(const float* weights, std::int64_t group, std::int64_t first, std::int64_t columns,
            float* panel) const noexcept override {
    const std::int64_t taps = g_.window.kernel_elements();
    fill_panel(weights + (group * g_.out + first) * g_.in * taps, columns, g_.in, taps,
               stored_channels(g_.in, layout_), panel);
  }
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams& params,
                                                const PackedWeights& packed) const override {
    SN_ASSIGN_OR_RETURN(GemmLayerParts parts, this->parts_of(packed, g_.group, g_.out));
    return make_kernel<PackedConvKernel<Gemm>>(g_, layout_, this->ops(), this->limits(params),
                                               std::move(parts));
  }

 private:
  ConvGeometry g_;
  Layout layout_;
};

template <class Gemm>
class PackedConv final : public PackedLayerRoutine<Gemm> {
 public:
  PackedConv(std::string_view layer_type, Layout layout, std::string_view algorithm, int rank,
             const typename Gemm::Ops& ops)
      : PackedLayerRoutine<Gemm>(layer_type, fmt::format(":{}", to_string(layout)), algorithm, rank,
                                 ops),
        layout_(layout) {}

 protected:
  Applicability applicable(const Problem& problem) const override {
    if (Applicability taken = GemmLayerRoutine::applicable(problem); !taken) return taken;
    const Shape& weights = problem.inputs[kGemmLayerWeights].shape;
    const std::int64_t groups = problem.params.integer("group", 1), block = block_of(layout_);
    const std::int64_t in = weights[1], out = weights[0] / groups;
    if (groups > 1 && (in % block != 0 || out % block != 0))
      return Applicability::no(
          fmt::format("groups of {} and {} channels are not multiples of {}", in, out, block));
    return Applicability::yes();
  }

  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    SN_ASSIGN_OR_RETURN(const ConvGeometry geometry, conv_geometry(*problem));
    return make_implementation_of<PackedConvImplementation<Gemm>>(std::move(problem), context,
                                                                  this->ops(), geometry, layout_);
  }

 private:
  Layout layout_;
};

}  // namespace

template <class Gemm>
Status add_packed_convs(Registry& registry, Layout layout, std::string_view algorithm, int rank,
                        const typename Gemm::Ops& ops) {
  for (const char* layer_type : {"conv1", "conv2", "conv3"})
    SN_RETURN_IF_ERROR(
        registry.add(std::make_unique<PackedConv<Gemm>>(layer_type, layout, algorithm, rank, ops)));
  return {};
}

template Status add_packed_convs<TiledGemm<float>>(Registry&, Layout, std::string_view, int,
                                                   const TileOps<float>&);
template Status add_packed_convs<TiledGemm<Half>>(Registry&, Layout, std::string_view, int,
                                                  const TileOps<Half>&);
template Status add_packed_convs<TiledGemm<BFloat16>>(Registry&, Layout, std::string_view, int,
                                                      const TileOps<float>&);
template Status add_packed_convs<HalfGemm<Half>>(Registry&, Layout, std::string_view, int,
                                                 const HalfTileOps<Half>&);
template Status add_packed_convs<HalfGemm<BFloat16>>(Registry&, Layout, std::string_view, int,
                                                     const HalfTileOps<BFloat16>&);
template Status add_packed_convs<SplitPrecisionGemm<Half>>(Registry&, Layout, std::string_view, int,
                                                           const SplitTileOps<Half>&);
template Status add_packed_convs<SplitPrecisionGemm<BFloat16>>(Registry&, Layout, std::string_view,
                                                               int, const SplitTileOps<BFloat16>&);
template Status add_packed_convs<SplitPrecisionGemm<float>>(Registry&, Layout, std::string_view,
                                                            int, const SplitTileOps<float>&);

}  // namespace softneuro
