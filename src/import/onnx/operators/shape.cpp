// The same elements under another shape or in another order; questions about shapes.
#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

void import_identity(Node& node) {
  node.define(0, node.input(0));
}

void import_reshape_attribute(Node& node) {
  const std::vector<std::int64_t> shape = node.required_integers("shape");
  node.finish("reshape", {node.input(0), node.integers_constant(shape)});
}

void import_reshape(Node& node) {
  node.finish("reshape", {node.input(0), node.input(1)},
              {{"allow_zero", node.integer("allowzero", 0)}});
}

void import_flatten(Node& node) {
  node.finish("flatten", {node.input(0)}, {{"axis", node.integer("axis", 1)}});
}

// Squeeze and Unsqueeze before operator set 13: the axes are an attribute.
void import_axes_attribute(Node& node) {
  const bool any = node.has("axes") || node.detail() == "unsqueeze";
  const TensorId axes = any ? node.integers_constant(node.required_integers("axes")) : kNoTensor;
  node.finish(node.detail(), {node.input(0), axes});
}

void import_transpose(Node& node) {
  node.finish("transpose", {node.input(0)}, {{"perm", node.integers("perm")}});
}

void import_shape(Node& node) {
  node.finish("shape", {node.input(0)},
              {{"start", node.integer("start", 0)}, {"end", node.integer("end", INT64_MAX)}});
}

void import_depth_to_space(Node& node) {
  const std::string mode = node.choice("mode", "DCR", {"DCR", "CRD"}) == "DCR" ? "dcr" : "crd";
  node.finish("depth_to_space", {node.input(0)},
              {{"block", node.required_integer("blocksize")}, {"mode", mode}});
}

void import_space_to_depth(Node& node) {
  node.finish("space_to_depth", {node.input(0)}, {{"block", node.required_integer("blocksize")}});
}

void import_trilu(Node& node) {
  node.finish("trilu", {node.input(0), node.input(1)}, {{"upper", node.integer("upper", 1)}});
}

void import_reverse_sequence(Node& node) {
  node.finish(
      "reverse_sequence", {node.input(0), node.input(1)},
      {{"batch_axis", node.integer("batch_axis", 1)}, {"time_axis", node.integer("time_axis", 0)}});
}

constexpr Operator kOperators[] = {
    {"DepthToSpace", 1, 1, 1, import_depth_to_space},
    {"Expand", 8, 2, 2, import_layer, "expand"},
    {"Flatten", 1, 1, 1, import_flatten},
    {"Identity", 1, 1, 1, import_identity},
    {"Reshape", 1, 1, 1, import_reshape_attribute},
    {"Reshape", 5, 2, 2, import_reshape},
    {"ReverseSequence", 10, 2, 2, import_reverse_sequence},
    {"Shape", 1, 1, 1, import_shape},
    {"Size", 1, 1, 1, import_layer, "size"},
    {"SpaceToDepth", 1, 1, 1, import_space_to_depth},
    {"Squeeze", 1, 1, 1, import_axes_attribute, "squeeze"},
    {"Squeeze", 13, 1, 2, import_layer, "squeeze"},
    {"Tile", 6, 2, 2, import_layer, "tile"},
    {"Transpose", 1, 1, 1, import_transpose},
    {"Trilu", 14, 1, 2, import_trilu},
    {"Unsqueeze", 1, 1, 1, import_axes_attribute, "unsqueeze"},
    {"Unsqueeze", 13, 2, 2, import_layer, "unsqueeze"},
};

}  // namespace

std::span<const Operator> shape_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
