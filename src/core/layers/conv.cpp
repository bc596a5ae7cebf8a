// conv1/2/3 and conv_transpose1/2/3.
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"
#include "core/layers/window.h"

namespace softneuro {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

// Ranks, data types and channel counts; the channels of the output (−1: unknown).
Result<Dim> check_channels(const InferContext& context, int axes, bool transposed) {
  SN_RETURN_IF_ERROR(context.expect_type(kX, kNumericTypes));
  SN_RETURN_IF_ERROR(context.expect_same_type(kWeights, kX));
  SN_RETURN_IF_ERROR(context.expect_rank(kX, axes + 2));
  SN_RETURN_IF_ERROR(context.expect_rank(kWeights, axes + 2));
  const std::int64_t group = context.params().integer("group");
  if (group < 1) return invalid_model("parameter group is {}, expected at least 1", group);
  Dim out;
  if (context.shape(kWeights).ranked()) {
    // Weights are [M, C/group, K…], transposed [C, M/group, K…].
    const Dim per_group = context.shape(kWeights)[1];
    const Dim all = context.shape(kWeights)[0];
    if (all.known() && all.value % group != 0)
      return invalid_model("dimension 0 of the weights is {}, not a multiple of group={}",
                           all.value, group);
    if (per_group.known() && per_group.value > INT64_MAX / group)
      return invalid_model("{} channels per group times group={} overflow", per_group.value, group);
    const Dim product = per_group.known() ? Dim(per_group.value * group) : Dim();
    const Dim expected = transposed ? all : product;
    out = transposed ? product : all;
    if (context.shape(kX).ranked()) {
      const Dim channels = context.shape(kX)[1];
      if (channels.known() && expected.known() && channels.value != expected.value)
        return invalid_model("input 0 has {} channels, the weights {} with group={} want {}",
                             channels.value, context.shape(kWeights).str(), group, expected.value);
    }
  }
  if (context.has_input(kBias)) {
    SN_RETURN_IF_ERROR(context.expect_rank(kBias, 1));
    SN_RETURN_IF_ERROR(context.expect_same_type(kBias, kX));
    if (context.shape(kBias).ranked()) {
      const Dim bias = context.shape(kBias)[0];
      if (bias.known() && out.known() && bias.value != out.value)
        return invalid_model("the bias has {} elements, the output {} channels", bias.value,
                             out.value);
      if (!out.known()) out = bias;
    }
  }
  return out;
}

template <int Axes, bool Transposed>
Status infer(InferContext& context) {
  SN_ASSIGN_OR_RETURN(const Dim channels, check_channels(context, Axes, Transposed));
  std::vector<Dim> dims(2 + Axes);
  if (context.shape(kX).ranked()) dims[0] = context.shape(kX)[0];
  dims[1] = channels;
  for (int i = 0; i < Axes; ++i) {
    const auto size = [&](std::size_t input) {
      return context.shape(input).ranked() ? context.shape(input)[i + 2].value : -1;
    };
    const auto axis = Transposed ? transposed_window_axis : window_axis;
    SN_ASSIGN_OR_RETURN(const WindowAxis window,
                        axis(context.params(), Axes, i, size(kX), size(kWeights)));
    const auto output = Transposed ? transposed_window_output : window_output;
    const Dim input = context.shape(kX).ranked() ? context.shape(kX)[i + 2] : Dim();
    dims[static_cast<std::size_t>(i + 2)] = output(context.params(), window, input);
  }
  return context.set_shape(DynamicShape(std::move(dims)));
}

// --- what generic code asks ----------------------------------------------------------------------

// Multiply-accumulates for one element of the tensor that w[A,B/group,K…] is slid over: all weights
// of one index of axis 0.
double weights_per_channel(const Shape& w) {
  if (w.rank() < 1 || w[0] == 0) return 0;
  return static_cast<double>(w.elements(1, w.rank()));
}

template <bool Transposed>
double macs(const LayerSizes& sizes) {
  const Shape* slid_over = Transposed ? sizes.inputs[kX] : sizes.outputs[0];
  return LayerSizes::elements(slid_over) * weights_per_channel(*sizes.inputs[kWeights]);
}

template <bool Transposed>
LayerWeights weights_info() {
  LayerWeights weights;
  weights.output_axis = [](const Params&) { return Transposed ? 1 : 0; };
  // What a transposed window adds to an output depends on the place.
  if (!Transposed) weights.sums_all = pads_nothing;
  return weights;
}

// --- declarations --------------------------------------------------------------------------------

std::vector<ParamSpec> window_params(bool transposed) {
  const std::vector<std::int64_t> none;
  std::vector<ParamSpec> params = {
      {"strides", none, "step of the window per axis, >= 1; empty: 1"},
      {"pads", none, "zeros around the input: begins, then ends, >= 0; empty: 0"},
      {"dilations", none, "spacing of the kernel's elements; empty: 1"},
      {"group", 1, "number of independent channel groups"},
      {"auto_pad", "explicit",
       "explicit (pads count), same_upper, same_lower (output = ceil(input / stride)), valid (0)"},
  };
  if (transposed) {
    params.push_back(
        {"output_padding", none, "elements added at the end of the output per axis; empty: 0"});
    params.push_back(
        {"output_shape", none, "spatial output size, from which pads follow; empty: from pads"});
  }
  return params;
}

template <int Axes>
Status add_convs(LayerTypes& types) {
  const std::string axes = std::to_string(Axes);
  const std::string over = axes + (Axes == 1 ? " spatial axis" : " spatial axes");
  return types.add_all(
      {{.name = "conv" + axes,
        .doc = "Convolution over " + over +
               ": y[n,m,o] = bias[m] + Σ x[n,c,o·stride+k·dilation−pad] · w[m,c,k] "
               "over the channels c of m's group and kernel positions k; outside of x is zero. "
               "Inputs: x[N,C,S…], w[M,C/group,K…], bias[M] (optional). Output: y[N,M,O…].",
        .category = LayerCategory::product,
        .params = window_params(false),
        .inputs = {2, 3},
        .cancellable = true,
        .fused_post_ops = FusedPostOps::all,
        .weights = weights_info<false>(),
        .infer = infer<Axes, false>,
        .macs = macs<false>},
       {.name = "conv_transpose" + axes,
        .doc = "Transposed convolution over " + over +
               ": x[n,c,i] · w[c,m,k] is added to y[n,m,i·stride+k·dilation−pad], "
               "bias[m] to all. Inputs: x[N,C,S…], w[C,M/group,K…], bias[M] (optional). Output: "
               "y[N,M,O…].",
        .category = LayerCategory::product,
        .params = window_params(true),
        .inputs = {2, 3},
        .cancellable = true,
        .fused_post_ops = FusedPostOps::all,
        .weights = weights_info<true>(),
        .infer = infer<Axes, true>,
        .macs = macs<true>}});
}

}  // namespace

Status register_layer_conv(LayerTypes& types) {
  SN_RETURN_IF_ERROR(add_convs<1>(types));
  SN_RETURN_IF_ERROR(add_convs<2>(types));
  return add_convs<3>(types);
}

}  // namespace softneuro
