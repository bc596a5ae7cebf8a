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
  return types.add(
      {.name = "unary",
       .doc =
           "y = f(x; alpha, beta), element by element. Input 0: x, any shape. Output 0: the "
           "same shape and data type (boolean for is_nan and is_inf). Functions that take "
           "alpha or beta, which are 0 where they are left out: leaky_relu: alpha·x for "
           "negative x, else x; elu: alpha·(eˣ − 1) for negative x, else x; selu: beta times "
           "elu; celu: alpha·(e^(x / alpha) − 1) for negative x, else x; thresholded_relu: x "
           "where it is greater than alpha, else 0; hard_sigmoid: alpha·x + beta, limited to "
           "[0, 1]; hard_swish: x times hard_sigmoid; silu: x·sigmoid(alpha·x); clip: x "
           "limited to [alpha, beta]; shrink: x + beta below −alpha, x − beta above alpha, "
           "else 0; linear: alpha·x + beta; fake_quantize: alpha·clamp(round(x / alpha), beta, "
           "beta + 255), where alpha is the scale and beta the lowest level less the zero point; "
           "is_inf: −∞ counts where alpha is not 0, +∞ where beta is not 0.",
       .category = LayerCategory::activation,
       .params = {{"op", "", "name of the function: relu, exp, clip…", true},
                  {"alpha", 0.0, "see above; unused by the other functions"},
                  {"beta", 0.0, "see above; unused by the other functions"}},
       .elementwise = true,
       .fused_post_ops = FusedPostOps::unary,
       .infer = infer,
       .equal_input = equal_input,
       .permute_axes = permute_no_axes});
}

}  // namespace softneuro
