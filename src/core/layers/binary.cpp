#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status check_types(const InferContext& context, BinaryOp op) {
  const DataType a = context.type(0);
  if (op == BinaryOp::pow) {  // the one function that mixes types: the result is of the base's
    SN_RETURN_IF_ERROR(context.expect_type(0, kNumericTypes));
    return context.expect_type(1, kNumericTypes);
  }
  SN_RETURN_IF_ERROR(context.expect_same_type(0, 1));
  switch (op) {
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
    case BinaryOp::logical_xor:
      if (a != DataType::boolean)
        return invalid_argument("{} takes booleans, not {}", to_string(op), to_string(a));
      return {};
    case BinaryOp::bitwise_and:
    case BinaryOp::bitwise_or:
    case BinaryOp::bitwise_xor:
      if (a == DataType::boolean) return {};
      return context.expect_type(0, kIntegerTypes);
    case BinaryOp::shift_left:
    case BinaryOp::shift_right:
      return context.expect_type(0, kIntegerTypes);
    default:
      if (result_type(op, a) == DataType::boolean && a == DataType::boolean) return {};
      return context.expect_type(0, kNumericTypes);
  }
}

Status infer(InferContext& context) {
  BinaryOp op;
  if (!parse(context.params().text("op"), op))
    return invalid_model("there is no binary op '{}'", context.params().text("op"));
  SN_RETURN_IF_ERROR(check_types(context, op));
  SN_ASSIGN_OR_RETURN(DynamicShape shape, broadcast(context.shape(0), context.shape(1)));
  context.set_output(0, result_type(op, context.type(0)), std::move(shape));
  return {};
}

}  // namespace

Status register_layer_binary(LayerTypes& types) {
  LayerType type;
  type.name = "binary";
  type.doc =
      "y = f(a, b), element by element, with numpy's broadcasting. Inputs: a and b, of the same "
      "data type (pow: any two). Output 0: a's data type; boolean for comparisons and logic. "
      "Integers wrap; they truncate when divided, and division by zero gives 0.";
  type.params = {
      {"op", ParamKind::text, std::string(), "name of the function: add, mul, less…", true},
  };
  type.min_inputs = 2;
  type.max_inputs = 2;
  type.elementwise = true;
  type.infer = infer;
  return types.add(std::move(type));
}

}  // namespace softneuro
