// The same elements under another shape or in another order; questions about shapes.
#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

void import_identity(Node& node) {
  node.define(0, node.input(0));
}

void import_reshape_attribute(Node& node) {
  const std::vector<std::int64_t> shape = node.required_integers("shape");
  node.finish("reshape", {node.input(0), integers_constant(node, shape)});
}

// Squeeze and Unsqueeze before operator set 13: the axes are an attribute.
void import_axes_attribute(Node& node) {
  const bool any = node.has("axes") || node.detail() == "unsqueeze";
  const TensorId axes = any ? integers_constant(node, node.required_integers("axes")) : kNoTensor;
  node.finish(node.detail(), {node.input(0), axes});
}

void import_transpose(Node& node) {
  node.finish("transpose", {node.input(0)}, {{"perm", node.integers("perm")}});
}

void import_depth_to_space(Node& node) {
  const std::string mode = lower_case(node.choice("mode", "DCR", {"DCR", "CRD"}));
  node.finish("depth_to_space", node.inputs(), row_params(node, {{"mode", mode}}));
}

constexpr AttributeRows kReverse = {{"batch_axis", 1}, {"time_axis", 0}};
constexpr AttributeRows kBlock = {{"blocksize", LeftOut::error, "block"}};

constexpr Operator kOperators[] = {
    {"DepthToSpace", 1, 1, 1, import_depth_to_space, {}, kBlock},
    {"Expand", 8, 2, 2, import_layer, "expand"},
    {"Flatten", 1, 1, 1, import_layer, "flatten", {{"axis", 1}}},
    {"Identity", 1, 1, 1, import_identity},
    {"Reshape", 1, 1, 1, import_reshape_attribute},
    {"Reshape", 5, 2, 2, import_layer, "reshape", {{"allowzero", 0, "allow_zero"}}},
    {"ReverseSequence", 10, 2, 2, import_layer, "reverse_sequence", kReverse},
    {"Shape", 1, 1, 1, import_layer, "shape", {{"start", 0}, {"end", INT64_MAX}}},
    {"Size", 1, 1, 1, import_layer, "size"},
    {"SpaceToDepth", 1, 1, 1, import_layer, "space_to_depth", kBlock},
    {"Squeeze", 1, 1, 1, import_axes_attribute, "squeeze"},
    {"Squeeze", 13, 1, 2, import_layer, "squeeze"},
    {"Tile", 6, 2, 2, import_layer, "tile"},
    {"Transpose", 1, 1, 1, import_transpose},
    {"Trilu", 14, 1, 2, import_layer, "trilu", {{"upper", 1}}},
    {"Unsqueeze", 1, 1, 1, import_axes_attribute, "unsqueeze"},
    {"Unsqueeze", 13, 2, 2, import_layer, "unsqueeze"},
};

}  // namespace

std::span<const Operator> shape_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
