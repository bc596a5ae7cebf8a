// Reading and writing at places that another tensor names.
#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

void import_gather(Node& node) {
  node.finish(node.detail(), {node.input(0), node.input(1)}, {{"axis", node.integer("axis", 0)}});
}

void import_gather_nd(Node& node) {
  node.finish("gather_nd", {node.input(0), node.input(1)},
              {{"batch_dims", node.integer("batch_dims", 0)}});
}

std::string reduction(Node& node) {
  return node.choice("reduction", "none", {"none", "add", "mul", "max", "min"});
}

void import_scatter_elements(Node& node) {
  node.finish("scatter_elements", {node.input(0), node.input(1), node.input(2)},
              {{"axis", node.integer("axis", 0)}, {"reduction", reduction(node)}});
}

void import_scatter_nd(Node& node) {
  node.finish("scatter_nd", {node.input(0), node.input(1), node.input(2)},
              {{"reduction", reduction(node)}});
}

void import_one_hot(Node& node) {
  node.finish("one_hot", {node.input(0), node.input(1), node.input(2)},
              {{"axis", node.integer("axis", -1)}});
}

void import_unique(Node& node) {
  LayerParams params{{"sorted", node.integer("sorted", 1)}};
  if (node.has("axis")) params.set("axis", node.integer("axis", 0));
  node.finish("unique", {node.input(0)}, params);
}

void import_non_max_suppression(Node& node) {
  node.finish("non_max_suppression",
              {node.input(0), node.input(1), node.input(2), node.input(3), node.input(4)},
              {{"center_point_box", node.integer("center_point_box", 0)}});
}

constexpr Operator kOperators[] = {
    {"Gather", 1, 2, 2, import_gather, "gather"},
    {"GatherElements", 11, 2, 2, import_gather, "gather_elements"},
    {"GatherND", 11, 2, 2, import_gather_nd},
    {"NonMaxSuppression", 10, 2, 5, import_non_max_suppression},
    {"NonZero", 9, 1, 1, import_layer, "nonzero"},
    {"OneHot", 9, 3, 3, import_one_hot},
    {"Scatter", 9, 3, 3, import_scatter_elements},
    {"ScatterElements", 11, 3, 3, import_scatter_elements},
    {"ScatterND", 11, 3, 3, import_scatter_nd},
    {"Unique", 11, 1, 1, import_unique},
};

}  // namespace

std::span<const Operator> gather_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
