// Reading and writing at places that another tensor names.
#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

void import_scatter(Node& node) {
  LayerParams params = row_params(node);
  params.set("reduction", node.choice("reduction", "none", {"none", "add", "mul", "max", "min"}));
  node.finish(node.detail(), node.inputs(), params);
}

constexpr Operator kOperators[] = {
    {"Gather", 1, 2, 2, import_layer, "gather", {{"axis", 0}}},
    {"GatherElements", 11, 2, 2, import_layer, "gather_elements", {{"axis", 0}}},
    {"GatherND", 11, 2, 2, import_layer, "gather_nd", {{"batch_dims", 0}}},
    {"NonMaxSuppression", 10, 2, 5, import_layer, "non_max_suppression", {{"center_point_box", 0}}},
    {"NonZero", 9, 1, 1, import_layer, "nonzero"},
    {"OneHot", 9, 3, 3, import_layer, "one_hot", {{"axis", -1}}},
    {"Scatter", 9, 3, 3, import_scatter, "scatter_elements", {{"axis", 0}}},
    {"ScatterElements", 11, 3, 3, import_scatter, "scatter_elements", {{"axis", 0}}},
    {"ScatterND", 11, 3, 3, import_scatter, "scatter_nd"},
    {"Unique", 11, 1, 1, import_layer, "unique", {{"sorted", 1}, {"axis", LeftOut::nothing}}},
};

}  // namespace

std::span<const Operator> gather_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
