// canonicalize_elementwise: one way of writing what exporters write in many.
//
//   x + 3, 3 − x, x · 6, x / 8 (scalar constants)   → unary linear(alpha, beta)
//   x · x, x^2, x^0.5, x^−1, 1 / x                  → unary square, sqrt, reciprocal
//   max(x, 0), min(x, 6), clip with constant limits → unary relu, clip
//   linear of linear, clip of clip or relu          → one of them
//
// A scalar operand costs a tensor and broadcasting; as a parameter it can be fused. The passes
// that look for activations and norms behind this one know the canonical form only, and a division
// by a scalar, which is left as it is but for powers of two: x · (1/c) is not x / c.
//
// Exact, but for the sign of a zero: nothing is rounded that the model does not round, and the
// constants of merged layers are those of the model up to products that the data type holds
// exactly. Merging leaves out a rounding, and no infinity or zero in between (joined). x^0.5 of −∞
// is NaN.
#include <algorithm>
#include <cmath>

#include "passes/constants.h"
#include "passes/pattern.h"
#include "passes/rounding.h"

namespace softneuro {
namespace {

struct UnaryForm {
  TensorId x;
  UnaryOp op;
  double alpha = 0;
  double beta = 0;
};

UnaryForm limits_form(TensorId x, double low, double high) {
  if (low == 0 && high == INFINITY) return {x, UnaryOp::relu};
  return {x, UnaryOp::clip, low, high};
}

// f(x, c) for a scalar constant c.
std::optional<UnaryForm> constant_on_the_right(BinaryOp op, TensorId x, double c) {
  switch (op) {
    case BinaryOp::add:
      return UnaryForm{x, UnaryOp::linear, 1, c};
    case BinaryOp::sub:
      return UnaryForm{x, UnaryOp::linear, 1, -c};
    case BinaryOp::mul:
      return UnaryForm{x, UnaryOp::linear, c, 0};
    case BinaryOp::div:
      // Neither x · (1/c) nor what is merged with it would be x / c.
      if (!is_power_of_two(c) || !std::isnormal(static_cast<float>(1 / c))) return std::nullopt;
      return UnaryForm{x, UnaryOp::linear, 1 / c, 0};
    case BinaryOp::max:
      return limits_form(x, c, INFINITY);
    case BinaryOp::min:
      return limits_form(x, -INFINITY, c);
    case BinaryOp::pow:
      if (c == 2) return UnaryForm{x, UnaryOp::square};
      if (c == 0.5) return UnaryForm{x, UnaryOp::sqrt};
      if (c == -1) return UnaryForm{x, UnaryOp::reciprocal};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// f(c, x).
std::optional<UnaryForm> constant_on_the_left(BinaryOp op, double c, TensorId x) {
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::mul:
    case BinaryOp::max:
    case BinaryOp::min:
      return constant_on_the_right(op, x, c);
    case BinaryOp::sub:
      return UnaryForm{x, UnaryOp::linear, -1, c};
    case BinaryOp::div:
      if (c != 1) return std::nullopt;
      return UnaryForm{x, UnaryOp::reciprocal};
    default:
      return std::nullopt;
  }
}

std::optional<UnaryForm> form_of_binary(const Rewriter& rewriter, const Layer& layer) {
  const std::optional<BinaryOp> op = binary_of(layer);
  if (!op) return std::nullopt;
  const TensorId a = layer.inputs[0], b = layer.inputs[1];
  if (a == b) {
    if (*op == BinaryOp::mul) return UnaryForm{a, UnaryOp::square};
    if (*op == BinaryOp::add) return UnaryForm{a, UnaryOp::linear, 2, 0};
    return std::nullopt;
  }
  // The constant must not lend its dimensions to the result.
  const auto scalar_beside = [&](TensorId constant, TensorId x) -> std::optional<double> {
    if (rewriter.tensor(x).is_constant() ||
        !broadcasts_to(rewriter.tensor(constant).shape, rewriter.tensor(x).shape))
      return std::nullopt;
    const std::optional<double> value = scalar_of(rewriter.graph(), constant);
    return value && std::isnan(*value) ? std::nullopt : value;
  };
  if (const auto c = scalar_beside(b, a)) return constant_on_the_right(*op, a, *c);
  if (const auto c = scalar_beside(a, b)) return constant_on_the_left(*op, *c, b);
  return std::nullopt;
}

// Limits that are tensors, but constant (or left out).
std::optional<UnaryForm> form_of_clip(const Rewriter& rewriter, const Layer& layer) {
  if (layer.type->name != "clip" || !layer.post_ops.empty()) return std::nullopt;
  double limits[] = {-INFINITY, INFINITY};
  for (const std::size_t i : {0u, 1u}) {
    if (!has_input(layer, i + 1)) continue;
    const std::optional<double> value = scalar_of(rewriter.graph(), layer.inputs[i + 1]);
    if (!value || std::isnan(*value)) return std::nullopt;
    limits[i] = *value;
  }
  return limits_form(layer.inputs[0], limits[0], limits[1]);
}

void canonicalize(Rewriter& rewriter, int i) {
  const Layer& layer = rewriter.layer(i);
  const LayerType* unary = rewriter.context().type("unary");
  std::optional<UnaryForm> form = form_of_binary(rewriter, layer);
  if (!form) form = form_of_clip(rewriter, layer);
  if (!form || unary == nullptr) return;
  rewriter.replace({}, i, *unary, {form->x}, unary_params(form->op, form->alpha, form->beta));
}

// What lies between two factors, x · a of x · a · b, is no further out than the result or x itself:
// it neither overflows nor becomes subnormal where these do not.
bool is_between(double a, double b) {
  a = std::fabs(a), b = std::fabs(b);
  return (a <= 1 && b <= 1) || (a >= 1 && b >= 1);
}

// outer(inner(x)) as one linear function that rounds no more than the two, and whose constants the
// type holds:
//
//   a·(b·x) + c       the product of the factors must be exact
//   a·(b·x + c)       and a be a power of two, not above 1, which rounds nothing: a shift times any
//                     other factor would be rounded, and x near −c/b loses the digits that are left
//
// Two shifts are not added: (x + 2²³) − 2²³ rounds on purpose.
std::optional<Linear> joined(const Linear& outer, const Linear& inner, DataType type) {
  Linear joint{inner.x, outer.alpha * inner.alpha, outer.alpha * inner.beta + outer.beta};
  if (!is_exact(joint.alpha, type) || !is_between(outer.alpha, inner.alpha)) return std::nullopt;
  if (inner.beta == 0) return joint;
  const bool scales_exactly = is_power_of_two(outer.alpha) && std::fabs(outer.alpha) <= 1;
  if (outer.beta != 0 || !scales_exactly || !is_exact(joint.beta, type)) return std::nullopt;
  return joint;
}

bool merge_linear(Rewriter& rewriter, int i) {
  const std::optional<Linear> outer = linear_of(rewriter, i);
  if (!outer || !unary_of(rewriter.layer(i)) || !rewriter.has_single_use(outer->x)) return false;
  const Linear inner = strip_linear(rewriter, outer->x);
  if (inner.layer < 0 || !unary_of(rewriter.layer(inner.layer))) return false;
  const auto joint = joined(*outer, inner, rewriter.tensor(outer->x).type);
  if (!joint) return false;
  const int matched[] = {i, inner.layer};
  return rewriter.replace(matched, i, *rewriter.context().type("unary"), {inner.x},
                          unary_params(UnaryOp::linear, joint->alpha, joint->beta));
}

bool merge_limits(Rewriter& rewriter, int i) {
  const std::optional<Limits> outer = limits_of(rewriter.layer(i));
  if (!outer || !rewriter.has_single_use(rewriter.layer(i).inputs[0])) return false;
  const int before = rewriter.producer(rewriter.layer(i).inputs[0]);
  if (before < 0) return false;
  const std::optional<Limits> inner = limits_of(rewriter.layer(before));
  if (!inner || !(inner->low <= inner->high) || !(outer->low <= outer->high)) return false;
  const UnaryForm form =
      limits_form(rewriter.layer(before).inputs[0], std::clamp(inner->low, outer->low, outer->high),
                  std::clamp(inner->high, outer->low, outer->high));
  const int matched[] = {i, before};
  return rewriter.replace(matched, i, *rewriter.context().type("unary"), {form.x},
                          unary_params(form.op, form.alpha, form.beta));
}

}  // namespace

Status canonicalize_elementwise(Rewriter& rewriter, int i) {
  const TensorId y = rewriter.layer(i).outputs[0];
  if (y == kNoTensor || !is_float(rewriter.tensor(y).type)) return {};
  canonicalize(rewriter, i);
  while (merge_linear(rewriter, i)) continue;
  while (merge_limits(rewriter, i)) continue;
  return {};
}

}  // namespace softneuro
