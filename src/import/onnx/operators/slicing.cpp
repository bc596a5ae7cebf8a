// Parts of tensors, and tensors put together from parts.
#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

void import_concat(Node& node) {
  if (node.opset() >= 4 && !node.has("axis")) return node.reject("the attribute 'axis' is missing");
  if (node.inputs().size() == 1) return node.define(0, node.input(0));
  node.finish("concat", node.inputs(), {{"axis", node.integer("axis", 1)}});
}

void import_split_attribute(Node& node) {
  const TensorId sizes =
      node.has("split") ? integers_constant(node, node.integers("split")) : kNoTensor;
  node.finish("split", {node.input(0), sizes},
              {{"axis", node.integer("axis", 0)},
               {"num_outputs", static_cast<std::int64_t>(node.output_count())}});
}

void import_split(Node& node) {
  const std::int64_t count =
      node.integer("num_outputs", static_cast<std::int64_t>(node.output_count()));
  if (static_cast<std::size_t>(count) < node.output_count())
    return node.reject("num_outputs is {}, but it gives {} outputs", count, node.output_count());
  node.finish("split", {node.input(0), node.input(1)},
              {{"axis", node.integer("axis", 0)}, {"num_outputs", count}});
}

void import_slice_attributes(Node& node) {
  const std::vector<std::int64_t> starts = node.required_integers("starts");
  const std::vector<std::int64_t> ends = node.required_integers("ends");
  const TensorId axes =
      node.has("axes") ? integers_constant(node, node.integers("axes")) : kNoTensor;
  node.finish("slice", {node.input(0), integers_constant(node, starts),
                        integers_constant(node, ends), axes});
}

std::string pad_mode(Node& node) {
  return node.choice("mode", "constant", {"constant", "reflect", "edge", "wrap"});
}

void import_pad_attributes(Node& node) {
  // Operator set 1 called them "paddings".
  const std::string_view name = node.has("paddings") ? "paddings" : "pads";
  const TensorId pads = integers_constant(node, node.required_integers(name));
  const std::string mode = pad_mode(node);
  const double value = node.real("value", 0);
  const TensorId fill =
      value == 0 ? kNoTensor : number_constant(node, value, node.type(node.input(0)));
  node.finish("pad", {node.input(0), pads, fill}, {{"mode", mode}});
}

void import_pad(Node& node) {
  node.finish("pad", {node.input(0), node.input(1), node.input(2), node.input(3)},
              {{"mode", pad_mode(node)}});
}

void import_center_crop_pad(Node& node) {
  const std::vector<std::int64_t> axes = node.integers("axes");
  if (node.has("axes") && axes.empty()) return node.define(0, node.input(0));
  node.finish("center_crop_pad", {node.input(0), node.input(1)}, {{"axes", axes}});
}

constexpr Operator kOperators[] = {
    {"CenterCropPad", 18, 2, 2, import_center_crop_pad},
    {"Compress", 9, 2, 2, import_layer, "compress", {{"axis", LeftOut::nothing}}},
    {"Concat", 1, 1, -1, import_concat},
    {"Pad", 1, 1, 1, import_pad_attributes},
    {"Pad", 11, 2, 4, import_pad},
    {"Slice", 1, 1, 1, import_slice_attributes},
    {"Slice", 10, 3, 5, import_layer, "slice"},
    {"Split", 2, 1, 1, import_split_attribute},
    {"Split", 13, 1, 2, import_split},
};

}  // namespace

std::span<const Operator> slicing_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
