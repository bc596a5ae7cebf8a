// Softmax and its relatives; dropout, which does nothing when a net is only run.
#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

LayerParams softmax_params(const Node& node, std::int64_t axis) {
  LayerParams params{{"axis", axis}};
  if (node.detail() == "log") params.set("log", std::int64_t{1});
  return params;
}

std::string layer_type(const Node& node) {
  return node.detail() == "hard" ? "hardmax" : "softmax";
}

void import_softmax(Node& node) {
  const std::int64_t axis = node.integer("axis", -1);
  node.finish(layer_type(node), {node.input(0)}, softmax_params(node, axis));
}

// Before operator set 13 the input is seen as a matrix: the dimensions before `axis` are its rows,
// those from `axis` on its columns.
void import_softmax_of_matrix(Node& node) {
  const TensorId x = node.input(0);
  std::int64_t axis = node.integer("axis", 1);
  const int rank = node.rank(x);
  if (rank >= 0) {
    if (axis < 0) axis += rank;
    bool ends_in_ones = axis >= 0 && axis < rank;
    for (int i = rank - 1; ends_in_ones && i > axis; --i) ends_in_ones = node.dim(x, i) == 1;
    if (ends_in_ones) return node.finish(layer_type(node), {x}, softmax_params(node, axis));
  }
  const TensorId matrix = node.emit("flatten", {x}, {{"axis", axis}});
  const TensorId y = node.emit(layer_type(node), {matrix}, softmax_params(node, 1));
  node.finish("reshape", {y, node.emit("shape", {x})}, {{"allow_zero", 1}});
}

// The mask says that nothing was dropped; its type was the data's before operator set 10.
void import_dropout(Node& node) {
  const TensorId x = node.input(0);
  if (node.has_input(2)) {
    const std::optional<double> training = node.number(node.input(2));
    const std::optional<double> ratio =
        node.has_input(1) ? node.number(node.input(1)) : std::optional<double>(0.5);
    if (training.value_or(1) != 0 && ratio.value_or(1) != 0)
      return node.refuse("it is set to training mode, or may be at run time");
  }
  node.define(0, x);
  if (!node.wants_output(1)) return;
  const DataType type = node.opset() < 10 ? node.type(x) : DataType::boolean;
  node.finish_output(1, "fill", {node.emit("shape", {x}), number_constant(node, 1, type)});
}

constexpr Operator kOperators[] = {
    {"Dropout", 6, 1, 1, import_dropout},
    {"Dropout", 12, 1, 3, import_dropout},
    {"Hardmax", 1, 1, 1, import_softmax_of_matrix, "hard"},
    {"Hardmax", 13, 1, 1, import_softmax, "hard"},
    {"LogSoftmax", 1, 1, 1, import_softmax_of_matrix, "log"},
    {"LogSoftmax", 13, 1, 1, import_softmax, "log"},
    {"Softmax", 1, 1, 1, import_softmax_of_matrix, "soft"},
    {"Softmax", 13, 1, 1, import_softmax, "soft"},
};

}  // namespace

std::span<const Operator> activation_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
