// Normalisations over channels, groups and trailing axes: batch_norm, instance_norm, group_norm,
// layer_norm, rms_norm, lrn, lp_norm.
#include <cmath>

#include "core/graph/axis_permutation.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

// The channels of x[N,C,…]; 1 for a vector x[N].
Dim channels_of(const DynamicShape& x) {
  if (!x.ranked()) return {};
  return x.rank() < 2 ? Dim(1) : x[1];
}

Status check_epsilon(const InferContext& context) {
  const double epsilon = context.params().real("epsilon", 1e-5);
  if (!(epsilon >= 0) || !std::isfinite(epsilon))
    return invalid_model("parameter epsilon is {}, expected a number >= 0", epsilon);
  return {};
}

// x[N,C,…] with inputs 1… of C elements each.
template <int MinRank>
Status infer_per_channel(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloatTypes));
  SN_RETURN_IF_ERROR(context.expect_min_rank(0, MinRank));
  SN_RETURN_IF_ERROR(check_epsilon(context));
  const Dim channels = channels_of(context.shape(0));
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    if (!context.has_input(i)) return invalid_model("input {} is left out", i);
    SN_RETURN_IF_ERROR(context.expect_type(i, kFloatTypes));
    SN_RETURN_IF_ERROR(context.expect_rank(i, 1));
    if (!context.shape(i).ranked()) continue;
    const Dim size = context.shape(i)[0];
    if (size.known() && channels.known() && size.value != channels.value)
      return invalid_model("input {} has {} elements, input 0 {} channels", i, size.value,
                           channels.value);
  }
  return infer_like_input(context);
}

Status infer_group(InferContext& context) {
  SN_RETURN_IF_ERROR(infer_per_channel<2>(context));
  const std::int64_t groups = context.params().integer("groups");
  if (groups < 1) return invalid_model("parameter groups is {}, expected at least 1", groups);
  const Dim channels = channels_of(context.shape(0));
  if (channels.known() && channels.value % groups != 0)
    return invalid_model("{} channels do not divide into groups={}", channels.value, groups);
  return {};
}

// Inputs 1… broadcast to x; outputs 1… have x's shape with ones from `axis` on.
Status infer_trailing(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloatTypes));
  SN_RETURN_IF_ERROR(context.expect_min_rank(0, 1));
  SN_RETURN_IF_ERROR(check_epsilon(context));
  const DynamicShape& x = context.shape(0);
  DynamicShape statistics;
  if (x.ranked()) {
    SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(context.params().integer("axis"), x.rank()));
    statistics = x;
    for (int i = axis; i < x.rank(); ++i) statistics[i] = Dim(1);
  }
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    if (!context.has_input(i)) continue;
    SN_RETURN_IF_ERROR(context.expect_type(i, kFloatTypes));
    const DynamicShape& factor = context.shape(i);
    if (!factor.ranked() || !x.ranked()) continue;
    const int shift = x.rank() - factor.rank();
    bool fits = shift >= 0;
    for (int k = 0; fits && k < factor.rank(); ++k)
      fits = !factor[k].known() || factor[k].value == 1 || !x[k + shift].known() ||
             factor[k].value == x[k + shift].value;
    if (!fits)
      return invalid_model("input {} of shape {} does not broadcast to input 0 of shape {}", i,
                           factor.str(), x.str());
  }
  context.set_output(0, context.type(0), x);
  context.set_output(1, DataType::float32, statistics);
  context.set_output(2, DataType::float32, statistics);
  return {};
}

Status infer_lrn(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloatTypes));
  SN_RETURN_IF_ERROR(context.expect_min_rank(0, 2));
  const std::int64_t size = context.params().integer("size");
  if (size < 1 || size > INT32_MAX)
    return invalid_model("parameter size is {}, expected 1 to {}", size, INT32_MAX);
  return infer_like_input(context);
}

Status infer_lp(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloatTypes));
  SN_RETURN_IF_ERROR(context.expect_min_rank(0, 1));
  const std::int64_t p = context.params().integer("p");
  if (p != 1 && p != 2) return invalid_model("parameter p is {}, expected 1 or 2", p);
  if (context.shape(0).ranked())
    SN_RETURN_IF_ERROR(
        normalize_axis(context.params().integer("axis"), context.shape(0).rank()).status());
  return infer_like_input(context);
}

ParamSpec epsilon_param() {
  return {
      "epsilon", 1e-5,
      "added to the variance (rms_norm: to the mean square), so that nothing is divided by zero"};
}

Status add_channel_norms(LayerTypes& types) {
  return types.add_all(
      {{.name = "batch_norm",
        .doc = "y = (x − mean[c]) / sqrt(var[c] + epsilon) · scale[c] + bias[c] with given "
               "statistics. Inputs: x[N,C,…] (a vector is one channel), scale, bias, mean, var "
               "[C]. Output: as x.",
        .category = LayerCategory::normalization,
        .params = {epsilon_param()},
        .inputs = {5, 5},
        .fused_post_ops = FusedPostOps::unary,
        .infer = infer_per_channel<1>},
       {.name = "instance_norm",
        .doc =
            "Each channel of each image is brought to mean 0 and variance 1 (of the population), "
            "then · scale[c] + bias[c]. Inputs: x[N,C,S…], scale[C], bias[C]. Output: as x.",
        .category = LayerCategory::normalization,
        .params = {epsilon_param()},
        .inputs = {3, 3},
        .fused_post_ops = FusedPostOps::unary,
        .infer = infer_per_channel<2>},
       {.name = "group_norm",
        .doc = "As instance_norm, with mean and variance over `groups` groups of C / groups "
               "channels each. Inputs: x[N,C,S…], scale[C], bias[C]. Output: as x.",
        .category = LayerCategory::normalization,
        .params = {epsilon_param(), {"groups", 1, "number of groups", true}},
        .inputs = {3, 3},
        .fused_post_ops = FusedPostOps::unary,
        .infer = infer_group}});
}

Status add_trailing_norms(LayerTypes& types) {
  const ParamSpec axis = {"axis", -1,
                          "first of the axes that are normalised together, in [−rank, rank)"};
  return types.add_all(
      {{.name = "layer_norm",
        .doc = "y = (x − mean) / sqrt(variance + epsilon) · scale + bias with mean and variance "
               "over the axes from `axis` on. Inputs: x, scale, bias (optional, broadcast to x). "
               "Outputs: y as x; mean and 1 / sqrt(variance + epsilon), float32, x's shape with "
               "ones from `axis` on.",
        .category = LayerCategory::normalization,
        .params = {axis, epsilon_param()},
        .inputs = {1, 3},
        .outputs = {1, 3},
        .fused_post_ops = FusedPostOps::unary,
        .infer = infer_trailing},
       {.name = "rms_norm",
        .doc = "y = x / sqrt(mean(x²) + epsilon) · scale with the mean over the axes from `axis` "
               "on. Inputs: x, scale (optional, broadcasts to x). Output: as x.",
        .category = LayerCategory::normalization,
        .params = {axis, epsilon_param()},
        .inputs = {1, 2},
        .fused_post_ops = FusedPostOps::unary,
        .infer = infer_trailing}});
}

Status add_response_norms(LayerTypes& types) {
  return types.add_all(
      {{.name = "lrn",
        .doc = "Local response normalisation over channels: y[c] = x[c] / (bias + alpha/size · Σ "
               "x²)^beta, summed over the channels c − ⌊(size−1)/2⌋ … c + ⌈(size−1)/2⌉ that exist. "
               "Input: x[N,C,…]. Output: as x.",
        .category = LayerCategory::normalization,
        .params = {{"size", 1, "channels that are summed", true},
                   {"alpha", 1e-4, "factor of the mean square"},
                   {"beta", 0.75, "exponent"},
                   {"bias", 1.0, "added to the scaled mean square"}},
        .infer = infer_lrn},
       {.name = "lp_norm",
        .doc = "x divided by its p-norm along one axis; 0 where the norm is 0. Input: x. Output: "
               "as x.",
        .category = LayerCategory::normalization,
        .params = {{"axis", -1, "axis of the norm, in [−rank, rank)"},
                   {"p", 2, "1: sum of magnitudes, 2: Euclidean"}},
        .infer = infer_lp,
        .permute_axes = permute_axis_parameter}});
}

}  // namespace

Status register_layer_norm(LayerTypes& types) {
  SN_RETURN_IF_ERROR(add_channel_norms(types));
  SN_RETURN_IF_ERROR(add_trailing_norms(types));
  return add_response_norms(types);
}

}  // namespace softneuro
