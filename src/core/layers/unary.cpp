#include <cmath>

#include "core/graph/axis_permutation.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

// Data types that make sense for `op`.
std::span<const DataType> allowed_types(UnaryOp op) {
  switch (op) {
    case UnaryOp::logical_not:
      return kBoolean;
    case UnaryOp::bitwise_not:
      return kIntegerTypes;
    case UnaryOp::relu:
    case UnaryOp::clip:
    case UnaryOp::abs:
    case UnaryOp::neg:
    case UnaryOp::sign:
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::square:
    case UnaryOp::linear:
    case UnaryOp::shrink:
      return kNumericTypes;
    default:
      return kFloatTypes;
  }
}

Status infer(InferContext& context) {
  UnaryOp op;
  if (!parse(context.params().text("op"), op))
    return invalid_model("there is no unary op '{}'", context.params().text("op"));
  SN_RETURN_IF_ERROR(context.expect_type(0, allowed_types(op)));
  context.set_output(0, result_type(op, context.type(0)), context.shape(0));
  return {};
}

int equal_input(const InferContext& context) {
  const double alpha = context.params().real("alpha"), beta = context.params().real("beta");
  UnaryOp op{};
  if (!parse(context.params().text("op"), op)) return -1;
  if (op == UnaryOp::linear) return alpha == 1 && beta == 0 ? 0 : -1;
  if (op == UnaryOp::clip) return alpha == -INFINITY && beta == INFINITY ? 0 : -1;
  return -1;
}

}  // namespace

Status register_layer_unary(LayerTypes& types) {
  LayerType type;
  type.name = "unary";
  type.doc =
      "y = f(x; alpha, beta), element by element. Input 0: x, any shape. Output 0: the same shape "
      "and data type (boolean for is_nan and is_inf).";
  type.params = {
      {"op", ParamKind::text, std::string(), "name of the function: relu, exp, clip…", true},
      {"alpha", ParamKind::real, 0.0, "the function's first number, where it has one"},
      {"beta", ParamKind::real, 0.0, "the function's second number, where it has one"},
  };
  type.category = LayerCategory::activation;
  type.elementwise = true;
  type.fused_post_ops = FusedPostOps::unary;
  type.infer = infer;
  type.equal_input = equal_input;
  type.permute_axes = permute_no_axes;
  return types.add(std::move(type));
}

}  // namespace softneuro
