#include <algorithm>

#include "core/graph/axis_permutation.h"
#include "core/graph/layer_type.h"
#include "core/graph/shape_values.h"
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

// --- what is known without a kernel --------------------------------------------------------------

// f(a, b) of two elements; symbols survive the neutral element and equality.
KnownInteger combine(BinaryOp op, const KnownInteger& a, const KnownInteger& b) {
  if (a.value && b.value) {
    // Sums and products of sizes stay far below this; beyond it, wrapping would matter.
    constexpr std::int64_t kLarge = std::int64_t{1} << 31;
    const auto is_large = [](std::int64_t v) { return v <= -kLarge || v >= kLarge; };
    if ((is_large(*a.value) || is_large(*b.value)) &&
        (op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul))
      return {};
    return {apply_integer(op, *a.value, *b.value), {}};
  }
  const auto is = [](const KnownInteger& x, std::int64_t v) { return x.value && *x.value == v; };
  if (((op == BinaryOp::mul || op == BinaryOp::div) && is(b, 1)) ||
      ((op == BinaryOp::add || op == BinaryOp::sub) && is(b, 0)))
    return a;
  if ((op == BinaryOp::mul && is(a, 1)) || (op == BinaryOp::add && is(a, 0))) return b;
  // Symbols stand for sizes, which are never negative.
  const bool size_and_negative = (!a.symbol.empty() && b.value && *b.value < 0) ||
                                 (!b.symbol.empty() && a.value && *a.value < 0);
  if (op == BinaryOp::equal && size_and_negative) return {0, {}};
  return {};
}

bool is_supported(BinaryOp op) {
  return op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul || op == BinaryOp::div ||
         op == BinaryOp::max || op == BinaryOp::min || op == BinaryOp::equal;
}

std::optional<ShapeValue> known_values(const KnownInputs& inputs) {
  BinaryOp op{};
  const ShapeValue* a = inputs.value(0);
  const ShapeValue* b = inputs.value(1);
  if (a == nullptr || b == nullptr || !parse(inputs.params().text("op"), op) || !is_supported(op))
    return std::nullopt;
  const std::size_t na = a->elements.size(), nb = b->elements.size();
  if (na != nb && na != 1 && nb != 1) return std::nullopt;
  ShapeValue value;
  value.rank = std::max(a->rank, b->rank);
  for (std::size_t i = 0; i < (na == 1 ? nb : na); ++i)
    value.elements.push_back(
        combine(op, a->elements[na == 1 ? 0 : i], b->elements[nb == 1 ? 0 : i]));
  return value;
}

// The operand that is always passed on: x + 0, x · 1…
int equal_input(const InferContext& context) {
  BinaryOp op{};
  if (!parse(context.params().text("op"), op)) return -1;
  const auto passes_on = [&](std::size_t x, double neutral) {
    return context.all_equal(1 - x, neutral) && context.keeps_shape(x);
  };
  switch (op) {
    case BinaryOp::add:
      return passes_on(0, 0) ? 0 : passes_on(1, 0) ? 1 : -1;
    case BinaryOp::mul:
      return passes_on(0, 1) ? 0 : passes_on(1, 1) ? 1 : -1;
    case BinaryOp::sub:
      return passes_on(0, 0) ? 0 : -1;
    case BinaryOp::div:
    case BinaryOp::pow:
      return passes_on(0, 1) ? 0 : -1;
    default:
      return -1;
  }
}

}  // namespace

Status register_layer_binary(LayerTypes& types) {
  return types.add(
      {.name = "binary",
       .doc = "y = f(a, b), element by element, with numpy's broadcasting. Inputs: a and b, of the "
              "same data type (pow: any two). Output 0: a's data type; boolean for comparisons and "
              "logic. Integers wrap; they truncate when divided, and division by zero gives 0.",
       .category = LayerCategory::activation,
       .params = {{"op", "", "name of the function: add, mul, less…", true}},
       .inputs = {2, 2},
       .elementwise = true,
       .fused_post_ops = FusedPostOps::unary,
       .inputs_share_axes = true,
       .infer = infer,
       .known_values = known_values,
       .equal_input = equal_input,
       .permute_axes = permute_no_axes});
}

}  // namespace softneuro
