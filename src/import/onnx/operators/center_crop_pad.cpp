#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

void import_center_crop_pad(Node& node) {
  const std::vector<std::int64_t> axes = node.integers("axes");
  if (node.has("axes") && axes.empty()) return node.define(0, node.input(0));
  node.finish("center_crop_pad", {node.input(0), node.input(1)}, {{"axes", axes}});
}

constexpr Operator kOperators[] = {
    {"CenterCropPad", 18, 2, 2, import_center_crop_pad},
};

}  // namespace

std::span<const Operator> center_crop_pad_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
