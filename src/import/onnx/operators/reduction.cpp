#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

void finish_reduce(Node& node, TensorId axes) {
  node.finish("reduce", {node.input(0), axes},
              {{"op", std::string(node.detail())},
               {"keepdims", node.integer("keepdims", 1)},
               {"noop_with_empty_axes", node.integer("noop_with_empty_axes", 0)}});
}

void import_reduce_attribute(Node& node) {
  const std::vector<std::int64_t> axes = node.integers("axes");
  finish_reduce(node, axes.empty() ? kNoTensor : integers_constant(node, axes));
}

void import_reduce(Node& node) {
  finish_reduce(node, node.input(1));
}

void import_arg_reduce(Node& node) {
  finish_op(node, "arg_reduce", node.inputs());
}

void import_topk_attribute(Node& node) {
  const TensorId k = integers_constant(node, {node.required_integer("k")});
  node.finish("topk", {node.input(0), k}, {{"axis", node.integer("axis", -1)}});
}

constexpr AttributeRows kArgReduce = {{"axis", 0}, {"keepdims", 1}, {"select_last_index", 0}};

constexpr Operator kOperators[] = {
    {"ArgMax", 1, 1, 1, import_arg_reduce, "max", kArgReduce},
    {"ArgMin", 1, 1, 1, import_arg_reduce, "min", kArgReduce},
    {"CumProd", 26, 2, 2, import_layer, "cum_prod", {{"exclusive", 0}, {"reverse", 0}}},
    {"CumSum", 11, 2, 2, import_layer, "cumsum", {{"exclusive", 0}, {"reverse", 0}}},
    {"ReduceL1", 1, 1, 1, import_reduce_attribute, "l1"},
    {"ReduceL1", 18, 1, 2, import_reduce, "l1"},
    {"ReduceL2", 1, 1, 1, import_reduce_attribute, "l2"},
    {"ReduceL2", 18, 1, 2, import_reduce, "l2"},
    {"ReduceLogSum", 1, 1, 1, import_reduce_attribute, "log_sum"},
    {"ReduceLogSum", 18, 1, 2, import_reduce, "log_sum"},
    {"ReduceLogSumExp", 1, 1, 1, import_reduce_attribute, "log_sum_exp"},
    {"ReduceLogSumExp", 18, 1, 2, import_reduce, "log_sum_exp"},
    {"ReduceMax", 1, 1, 1, import_reduce_attribute, "max"},
    {"ReduceMax", 18, 1, 2, import_reduce, "max"},
    {"ReduceMean", 1, 1, 1, import_reduce_attribute, "mean"},
    {"ReduceMean", 18, 1, 2, import_reduce, "mean"},
    {"ReduceMin", 1, 1, 1, import_reduce_attribute, "min"},
    {"ReduceMin", 18, 1, 2, import_reduce, "min"},
    {"ReduceProd", 1, 1, 1, import_reduce_attribute, "prod"},
    {"ReduceProd", 18, 1, 2, import_reduce, "prod"},
    {"ReduceSum", 1, 1, 1, import_reduce_attribute, "sum"},
    {"ReduceSum", 13, 1, 2, import_reduce, "sum"},
    {"ReduceSumSquare", 1, 1, 1, import_reduce_attribute, "sum_square"},
    {"ReduceSumSquare", 18, 1, 2, import_reduce, "sum_square"},
    {"TopK", 1, 1, 1, import_topk_attribute},
    {"TopK", 10, 2, 2, import_layer, "topk", {{"axis", -1}, {"largest", 1}, {"sorted", 1}}},
};

}  // namespace

std::span<const Operator> reduction_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
