#include "import/onnx/node.h"

namespace softneuro::onnx {
namespace {

// C as a bias of n values, if it is a constant that amounts to one; else kNoTensor.
TensorId bias_of(Node& node, TensorId c, std::int64_t n) {
  if (!node.is_constant(c) || n < 0) return kNoTensor;
  const Tensor* value = node.value(c);
  const Shape& shape = value->shape();
  if (shape == Shape{n}) return c;
  if (shape == Shape{1, n}) return node.emit("reshape", {c, integers_constant(node, {n})});
  if (value->elements() != 1 || shape.rank() > 2) return kNoTensor;
  const TensorId list =
      shape.rank() == 2 ? node.emit("reshape", {c, integers_constant(node, {1})}) : c;
  return node.emit("expand", {list, integers_constant(node, {n})});
}

// alpha · A' · B' + beta · C. The usual form, a matrix times constant weights plus one bias per
// column, becomes a dense layer; everything else is put together.
void import_gemm(Node& node) {
  const TensorId a = node.input(0);
  const TensorId b = node.input(1);
  TensorId c = node.input(2);
  const double alpha = node.real("alpha", 1);
  const double beta = node.real("beta", 1);
  const std::int64_t transpose_a = node.integer("transA", 0) != 0;
  const std::int64_t transpose_b = node.integer("transB", 0) != 0;
  if (beta == 0) c = kNoTensor;
  if (transpose_a == 0 && alpha == 1 && beta == 1 && node.is_constant(b) && node.rank(b) == 2 &&
      is_float(node.type(b))) {
    const TensorId bias = bias_of(node, c, node.dim(b, transpose_b != 0 ? 0 : 1));
    if (c == kNoTensor || bias != kNoTensor)
      return node.finish("dense", {a, b, bias}, {{"transpose_weights", transpose_b}});
  }
  const LayerParams transposes{{"transpose_a", transpose_a}, {"transpose_b", transpose_b}};
  if (c == kNoTensor && alpha == 1) return node.finish("matmul", {a, b}, transposes);
  const DataType type = node.type(a);
  TensorId product = node.emit("matmul", {a, b}, transposes);
  if (c == kNoTensor)
    return node.finish("binary", {product, number_constant(node, alpha, type)}, {{"op", "mul"}});
  if (alpha != 1) product = binary(node, "mul", product, number_constant(node, alpha, type));
  if (beta != 1) c = binary(node, "mul", c, number_constant(node, beta, type));
  node.finish("binary", {product, c}, {{"op", "add"}});
}

// A list of values, one per row (or column) of the last two dimensions of `of`, shaped so that it
// broadcasts; scalars and full shapes stay.
TensorId per_row(Node& node, TensorId list) {
  return node.rank(list) == 1 && node.dim(list, 0) != 1 ? unsqueeze(node, list, {-1}) : list;
}

void import_matmul_integer(Node& node) {
  const TensorId a_zero = node.has_input(2) ? per_row(node, node.input(2)) : kNoTensor;
  const TensorId a = less_zero_point(node, node.input(0), a_zero);
  const TensorId b = less_zero_point(node, node.input(1), node.input(3));
  node.finish("matmul", {a, b});
}

// The integers are multiplied exactly; the scales of rows and columns are applied to the sums.
void import_qlinear_matmul(Node& node) {
  const TensorId a = less_zero_point(node, node.input(0), per_row(node, node.input(2)));
  const TensorId b = less_zero_point(node, node.input(3), node.input(5));
  const DataType real = node.type(node.input(1));
  const TensorId sums = cast(node, node.emit("matmul", {a, b}), DataType::float32);
  const auto scale = [&](TensorId id) { return cast(node, id, DataType::float32); };
  TensorId y = binary(node, "mul", sums, scale(per_row(node, node.input(1))));
  y = binary(node, "mul", y, scale(node.input(4)));
  // A list of scales is one per row.
  node.finish("quantize", {cast(node, y, real), node.input(6), node.input(7)}, {{"axis", -2}});
}

void import_einsum(Node& node) {
  node.finish("einsum", node.inputs(), {{"equation", node.text("equation", "")}});
}

constexpr Operator kOperators[] = {
    {"Det", 11, 1, 1, import_layer, "det"},
    {"Einsum", 12, 1, -1, import_einsum},
    {"Gemm", 6, 2, 3, import_gemm},
    {"MatMul", 1, 2, 2, import_layer, "matmul"},
    {"MatMulInteger", 10, 2, 4, import_matmul_integer},
    {"QLinearMatMul", 10, 8, 8, import_qlinear_matmul},
};

}  // namespace

std::span<const Operator> matmul_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
