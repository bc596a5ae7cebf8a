#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

// Scale and bias in x's own type.
TensorId like_x(Node& node, std::size_t i) {
  return cast(node, node.input(i), node.type(node.input(0)));
}

void import_batch_normalization(Node& node) {
  if (node.integer("training_mode", 0) != 0 ||
      (node.opset() < 7 && node.integer("is_test", 0) == 0))
    return node.refuse("it is set to training mode");
  if (node.output_count() > 1)
    return node.refuse("it gives running statistics, which only training has");
  if (node.integer("spatial", 1) == 0)
    return node.refuse("statistics per position (spatial = 0) are not supported");
  node.finish("batch_norm",
              {node.input(0), like_x(node, 1), like_x(node, 2), like_x(node, 3), like_x(node, 4)},
              {{"epsilon", node.real("epsilon", 1e-5f)}});
}

// One value per group → one per channel.
TensorId per_channel(Node& node, TensorId per_group, std::int64_t groups, std::int64_t channels) {
  const TensorId column = unsqueeze(node, per_group, {1});
  const TensorId size = integers_constant(node, {groups, channels / groups});
  const TensorId repeated = node.emit("expand", {column, size});
  return node.emit("reshape", {repeated, integers_constant(node, {channels})});
}

void import_group_normalization(Node& node) {
  const std::int64_t groups = node.required_integer("num_groups");
  if (groups < 1) return node.reject("num_groups is {}, but must be positive", groups);
  TensorId scale = like_x(node, 1);
  TensorId bias = like_x(node, 2);
  if (node.opset() < 21) {
    const std::int64_t channels = node.need_dim(node.input(0), 1);
    if (node.failed()) return;
    if (channels % groups != 0)
      return node.reject("{} channels do not make {} groups", channels, groups);
    scale = per_channel(node, scale, groups, channels);
    bias = per_channel(node, bias, groups, channels);
  }
  node.finish("group_norm", {node.input(0), scale, bias},
              {{"groups", groups}, {"epsilon", node.real("epsilon", 1e-5f)}});
}

// (x − mean) / (standard deviation + 1e-9), both over `axes`.
void import_mean_variance_normalization(Node& node) {
  const TensorId x = node.input(0);
  std::vector<std::int64_t> list = node.integers("axes");
  if (!node.has("axes")) list = {0, 2, 3};
  const TensorId axes = integers_constant(node, list);
  const TensorId mean = node.emit("reduce", {x, axes}, {{"op", "mean"}, {"keepdims", 1}});
  const TensorId centred = binary(node, "sub", x, mean);
  const TensorId variance = node.emit("reduce", {unary(node, "square", centred), axes},
                                      {{"op", "mean"}, {"keepdims", 1}});
  const TensorId divisor =
      binary(node, "add", unary(node, "sqrt", variance), number_constant(node, 1e-9, node.type(x)));
  node.finish("binary", {centred, divisor}, {{"op", "div"}});
}

constexpr AttributeRows kAxisEpsilon = {{"axis", -1}, {"epsilon", 1e-5f}};
constexpr AttributeRows kLrn = {
    {"size", LeftOut::error}, {"alpha", 0.0001f}, {"beta", 0.75}, {"bias", 1.0}};

constexpr Operator kOperators[] = {
    {"BatchNormalization", 6, 5, 5, import_batch_normalization},
    {"GroupNormalization", 18, 3, 3, import_group_normalization},
    {"InstanceNormalization", 6, 3, 3, import_layer, "instance_norm", {{"epsilon", 1e-5f}}},
    {"LRN", 1, 1, 1, import_layer, "lrn", kLrn},
    {"LayerNormalization", 17, 2, 3, import_layer, "layer_norm", kAxisEpsilon},
    {"LpNormalization", 1, 1, 1, import_layer, "lp_norm", {{"axis", -1}, {"p", 2}}},
    {"MeanVarianceNormalization", 9, 1, 1, import_mean_variance_normalization},
    {"RMSNormalization", 23, 2, 2, import_layer, "rms_norm", kAxisEpsilon},
};

}  // namespace

std::span<const Operator> normalization_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
