// Functions of single elements, and of two or more broadcast tensors.
#include <cmath>
#include <limits>

#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

void import_unary(Node& node) {
  finish_op(node, "unary", node.inputs());
}

void finish_unary(Node& node, std::string_view op, double alpha, double beta = 0) {
  node.finish("unary", {node.input(0)},
              {{"op", std::string(op)}, {"alpha", alpha}, {"beta", beta}});
}

void import_hard_swish(Node& node) {
  finish_unary(node, "hard_swish", 1.0 / 6, 0.5);
}
void import_gelu(Node& node) {
  const bool tanh = node.choice("approximate", "none", {"none", "tanh"}) == "tanh";
  finish_unary(node, tanh ? "gelu_tanh" : "gelu", 0);
}
void import_is_inf(Node& node) {
  finish_unary(node, "is_inf", node.integer("detect_negative", 1) != 0,
               node.integer("detect_positive", 1) != 0);
}

void import_clip(Node& node) {
  const TensorId low = node.input(1);
  const TensorId high = node.input(2);
  // Integers keep their limits as tensors: a double does not hold every int64.
  const bool constant =
      (low == kNoTensor || node.number(low)) && (high == kNoTensor || node.number(high));
  if (!constant || !is_float(node.type(node.input(0))))
    return node.finish("clip", {node.input(0), low, high});
  finish_unary(node, "clip", node.number(low).value_or(-INFINITY),
               node.number(high).value_or(INFINITY));
}

// Operator set 6: `axis` says where the second operand's dimensions lie in the first one's, if
// `broadcast` is set; later ones align them at the end.
TensorId second_operand(Node& node) {
  const TensorId b = node.input(1);
  if (node.opset() >= 7 || node.integer("broadcast", 0) == 0 || !node.has("axis")) return b;
  const int rank = node.need_rank(node.input(0));
  const int b_rank = node.need_rank(b);
  std::int64_t axis = node.integer("axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank - b_rank) {
    node.reject("axis {} does not fit operands of ranks {} and {}", node.integer("axis", 0), rank,
                b_rank);
    return b;
  }
  return unsqueeze(node, b, axes_between(b_rank, rank - axis));
}

void finish_binary(Node& node, std::string_view op) {
  node.finish("binary", {node.input(0), second_operand(node)}, {{"op", std::string(op)}});
}

void import_binary(Node& node) {
  finish_binary(node, node.detail());
}

void import_bit_shift(Node& node) {
  const bool left = node.choice("direction", "", {"LEFT", "RIGHT"}) == "LEFT";
  finish_binary(node, left ? "shift_left" : "shift_right");
}

void import_mod(Node& node) {
  finish_binary(node, node.integer("fmod", 0) != 0 ? "fmod" : "mod");
}

// From operator set 12 on, base and exponent may differ in type; the result has the base's.
void import_pow(Node& node) {
  const TensorId base = node.input(0);
  const TensorId exponent = second_operand(node);
  const DataType type = node.type(base);
  const DataType exponent_type = node.type(exponent);
  if (type == exponent_type) return node.finish("binary", {base, exponent}, {{"op", "pow"}});
  if (is_integer(type) && is_float(exponent_type)) {
    const TensorId power = binary(node, "pow", cast(node, base, exponent_type), exponent);
    return node.finish("cast", {power}, {{"to", to_string(type)}});
  }
  node.finish("binary", {base, cast(node, exponent, type)}, {{"op", "pow"}});
}

void import_prelu(Node& node) {
  const TensorId x = node.input(0);
  TensorId slope = node.input(1);
  // Operator set 6: a list of slopes is one per channel.
  if (node.opset() < 7 && node.rank(slope) == 1 && node.dim(slope, 0) != 1)
    slope = unsqueeze(node, slope, axes_between(1, node.need_rank(x) - 1));
  node.finish("binary", {x, slope}, {{"op", "prelu"}});
}

TensorId chain(Node& node, std::string_view op, std::size_t count) {
  TensorId result = node.input(0);
  for (std::size_t i = 1; i < count; ++i) result = binary(node, op, result, node.input(i));
  return result;
}

// Sum, Max, Min of any number of tensors: one binary layer after the other.
void import_variadic(Node& node) {
  const std::size_t count = node.inputs().size();
  if (count == 1) return node.define(0, node.input(0));
  node.finish("binary", {chain(node, node.detail(), count - 1), node.input(count - 1)},
              {{"op", std::string(node.detail())}});
}

void import_mean(Node& node) {
  const TensorId sum = chain(node, "add", node.inputs().size());
  const auto count = static_cast<double>(node.inputs().size());
  node.finish("binary", {sum, number_constant(node, count, node.type(node.input(0)))},
              {{"op", "div"}});
}

// y = swish(a) · b.
void import_swiglu(Node& node) {
  const TensorId gate = unary(node, "silu", node.input(0), node.real("alpha", 1));
  node.finish("binary", {gate, node.input(1)}, {{"op", "mul"}});
}

constexpr double kLowest = std::numeric_limits<float>::lowest();
constexpr double kHighest = std::numeric_limits<float>::max();

// Operator set 1 rounded these; all later ones have them in full.
constexpr AttributeRows kSelu = {{"alpha", 1.67326319217681884765625},
                                 {"gamma", 1.05070102214813232421875, "beta"}};

constexpr Operator kOperators[] = {
    {"Abs", 6, 1, 1, import_unary, "abs"},
    {"Acos", 7, 1, 1, import_unary, "acos"},
    {"Acosh", 9, 1, 1, import_unary, "acosh"},
    {"Add", 6, 2, 2, import_binary, "add"},
    {"And", 1, 2, 2, import_binary, "logical_and"},
    {"Asin", 7, 1, 1, import_unary, "asin"},
    {"Asinh", 9, 1, 1, import_unary, "asinh"},
    {"Atan", 7, 1, 1, import_unary, "atan"},
    {"Atanh", 9, 1, 1, import_unary, "atanh"},
    {"BitShift", 11, 2, 2, import_bit_shift},
    {"BitwiseAnd", 18, 2, 2, import_binary, "bitwise_and"},
    {"BitwiseNot", 18, 1, 1, import_unary, "bitwise_not"},
    {"BitwiseOr", 18, 2, 2, import_binary, "bitwise_or"},
    {"BitwiseXor", 18, 2, 2, import_binary, "bitwise_xor"},
    {"Ceil", 6, 1, 1, import_unary, "ceil"},
    {"Celu", 12, 1, 1, import_unary, "celu", {{"alpha", 1.0}}},
    {"Clip", 6, 1, 1, import_unary, "clip", {{"min", kLowest, "alpha"}, {"max", kHighest, "beta"}}},
    {"Clip", 11, 1, 3, import_clip},
    {"Cos", 7, 1, 1, import_unary, "cos"},
    {"Cosh", 9, 1, 1, import_unary, "cosh"},
    {"Div", 6, 2, 2, import_binary, "div"},
    {"Elu", 6, 1, 1, import_unary, "elu", {{"alpha", 1.0}}},
    {"Equal", 1, 2, 2, import_binary, "equal"},
    {"Erf", 9, 1, 1, import_unary, "erf"},
    {"Exp", 6, 1, 1, import_unary, "exp"},
    {"Floor", 6, 1, 1, import_unary, "floor"},
    {"Gelu", 20, 1, 1, import_gelu},
    {"Greater", 1, 2, 2, import_binary, "greater"},
    {"GreaterOrEqual", 12, 2, 2, import_binary, "greater_equal"},
    {"HardSigmoid", 6, 1, 1, import_unary, "hard_sigmoid", {{"alpha", 0.2f}, {"beta", 0.5}}},
    {"HardSwish", 14, 1, 1, import_hard_swish},
    {"IsInf", 10, 1, 1, import_is_inf},
    {"IsNaN", 9, 1, 1, import_unary, "is_nan"},
    {"LeakyRelu", 6, 1, 1, import_unary, "leaky_relu", {{"alpha", 0.01f}}},
    {"Less", 1, 2, 2, import_binary, "less"},
    {"LessOrEqual", 12, 2, 2, import_binary, "less_equal"},
    {"Log", 6, 1, 1, import_unary, "log"},
    {"Max", 6, 1, -1, import_variadic, "max"},
    {"Mean", 6, 1, -1, import_mean},
    {"Min", 6, 1, -1, import_variadic, "min"},
    {"Mish", 18, 1, 1, import_unary, "mish"},
    {"Mod", 10, 2, 2, import_mod},
    {"Mul", 6, 2, 2, import_binary, "mul"},
    {"Neg", 6, 1, 1, import_unary, "neg"},
    {"Not", 1, 1, 1, import_unary, "logical_not"},
    {"Or", 1, 2, 2, import_binary, "logical_or"},
    {"PRelu", 6, 2, 2, import_prelu},
    {"Pow", 1, 2, 2, import_pow},
    {"Reciprocal", 6, 1, 1, import_unary, "reciprocal"},
    {"Relu", 6, 1, 1, import_unary, "relu"},
    {"Round", 11, 1, 1, import_unary, "round"},
    {"Selu", 6, 1, 1, import_unary, "selu", kSelu},
    {"Shrink", 9, 1, 1, import_unary, "shrink", {{"lambd", 0.5, "alpha"}, {"bias", 0.0, "beta"}}},
    {"Sigmoid", 6, 1, 1, import_unary, "sigmoid"},
    {"Sign", 9, 1, 1, import_unary, "sign"},
    {"Sin", 7, 1, 1, import_unary, "sin"},
    {"Sinh", 9, 1, 1, import_unary, "sinh"},
    {"Softplus", 1, 1, 1, import_unary, "softplus"},
    {"Softsign", 1, 1, 1, import_unary, "softsign"},
    {"Sqrt", 6, 1, 1, import_unary, "sqrt"},
    {"Sub", 6, 2, 2, import_binary, "sub"},
    {"Sum", 6, 1, -1, import_variadic, "add"},
    {"SwiGLU", 28, 2, 2, import_swiglu},
    {"Swish", 24, 1, 1, import_unary, "silu", {{"alpha", 1.0}}},
    {"Tan", 7, 1, 1, import_unary, "tan"},
    {"Tanh", 6, 1, 1, import_unary, "tanh"},
    {"ThresholdedRelu", 1, 1, 1, import_unary, "thresholded_relu", {{"alpha", 1.0}}},
    {"Where", 9, 3, 3, import_layer, "where"},
    {"Xor", 1, 2, 2, import_binary, "logical_xor"},
};

}  // namespace

std::span<const Operator> elementwise_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
