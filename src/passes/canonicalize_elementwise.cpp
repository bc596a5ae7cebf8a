// canonicalize_elementwise: one way of writing what exporters write in many.
//
//   x + 3, 3 − x, x / 6, −x (scalar constants)      → unary linear(alpha, beta)
//   x · x, x^2, x^0.5, x^−1, 1 / x                  → unary square, sqrt, reciprocal
//   max(x, 0), min(x, 6), clip with constant limits → unary relu, clip
//   linear of linear, clip of clip or relu          → one of them
//
// A scalar operand costs a tensor and broadcasting; as a parameter it can be fused. The passes
// that look for activations and norms behind this one know the canonical form only.
#include <algorithm>
#include <cmath>

#include "passes/constants.h"
#include "passes/pattern.h"

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
      if (!std::isnormal(c) || !std::isnormal(1 / c)) return std::nullopt;
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

// The sum of two additions that all but cancel is a rounding trick: (x + 2²³) − 2²³.
bool cancels(double a, double b) {
  return a != 0 && b != 0 && std::fabs(a + b) < 1e-3 * std::max(std::fabs(a), std::fabs(b));
}

bool merge_linear(Rewriter& rewriter, int i) {
  const std::optional<Linear> outer = linear_of(rewriter, i);
  if (!outer || !rewriter.has_single_use(outer->x)) return false;
  const Linear inner = strip_linear(rewriter, outer->x);
  if (inner.layer < 0) return false;
  const double alpha = outer->alpha * inner.alpha;
  const double shifted = outer->alpha * inner.beta;
  if (cancels(shifted, outer->beta) || !std::isfinite(alpha) || !std::isfinite(shifted) ||
      (alpha != 0 && !std::isnormal(static_cast<float>(alpha))))
    return false;
  const int matched[] = {i, inner.layer};
  rewriter.replace(matched, i, *rewriter.context().type("unary"), {inner.x},
                   unary_params(UnaryOp::linear, alpha, shifted + outer->beta));
  return true;
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
  rewriter.replace(matched, i, *rewriter.context().type("unary"), {form.x},
                   unary_params(form.op, form.alpha, form.beta));
  return true;
}

}  // namespace

Status canonicalize_elementwise(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = 0; i < rewriter.count(); ++i) {
    if (!rewriter.alive(i)) continue;
    const TensorId y = rewriter.layer(i).outputs[0];
    if (y == kNoTensor || !is_float(rewriter.tensor(y).type)) continue;
    canonicalize(rewriter, i);
    while (merge_linear(rewriter, i)) continue;
    while (merge_limits(rewriter, i)) continue;
  }
  return rewriter.finish();
}

}  // namespace softneuro
