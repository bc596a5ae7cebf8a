// fuse_layer_norm: a layer norm spelled out as reductions and arithmetic.
//
//   m = mean(x), d = x − m, v = mean(d²), y = d / sqrt(v + ε) [· scale] [+ bias]
//
// and TensorFlow's form, which applies the scale first:
//
//   r = rsqrt(v + ε) [· scale], y = x · r + (bias − m · r)
//
// Means over the last axes, kept as dimensions of 1. Exact up to rounding; TensorFlow's form
// cancels where the mean is large, the norm does not.
#include "passes/norm_pattern.h"

namespace softneuro {
namespace {

struct Match {
  TensorId x = kNoTensor;
  TensorId scale = kNoTensor;
  TensorId bias = kNoTensor;
  int axis = 0;
  double epsilon = 0;
  std::vector<int> layers;
};

// d = x − mean(x) over the axes from `axis` on; the layers are appended.
TensorId match_centered(const Rewriter& rewriter, TensorId d, int axis, std::vector<int>& layers) {
  const int difference = find_binary(rewriter, d, BinaryOp::sub);
  if (difference < 0) return kNoTensor;
  const TensorId x = rewriter.layer(difference).inputs[0];
  const auto mean = find_reduction(rewriter, rewriter.layer(difference).inputs[1], "mean");
  if (!mean || mean->x != x || trailing_axis(mean->axes, rewriter.tensor(x).shape.rank()) != axis)
    return kNoTensor;
  layers.insert(layers.end(), {difference, mean->layer});
  return x;
}

std::optional<Match> match_usual(const Rewriter& rewriter, int root) {
  std::optional<Normalized> quotient = match_normalized(rewriter, root);
  if (!quotient) return std::nullopt;
  Match match;
  match.axis = quotient->axis;
  match.epsilon = quotient->epsilon;
  match.layers = std::move(quotient->layers);
  match.x = match_centered(rewriter, quotient->numerator, match.axis, match.layers);
  if (match.x == kNoTensor) return std::nullopt;
  return match;
}

// r = rsqrt(mean((x − m)²) + ε), perhaps times a scale; m is mean(x).
bool match_scaled_deviation(const Rewriter& rewriter, TensorId r, TensorId m, Match& match) {
  std::optional<InverseDeviation> deviation = match_inverse_deviation(rewriter, r);
  if (!deviation) {
    const int product = find_binary(rewriter, r, BinaryOp::mul);
    for (std::size_t k = 0; product >= 0 && k < 2 && !deviation; ++k) {
      deviation = match_inverse_deviation(rewriter, rewriter.layer(product).inputs[k]);
      match.scale = rewriter.layer(product).inputs[1 - k];
    }
    if (!deviation) return false;
    match.layers.push_back(product);
  }
  match.layers.insert(match.layers.end(), deviation->layers.begin(), deviation->layers.end());
  match.epsilon = deviation->epsilon;
  const auto variance = find_reduction(rewriter, deviation->mean, "mean");
  if (!variance) return false;
  const auto axis = trailing_axis(variance->axes, rewriter.tensor(variance->x).shape.rank());
  const int square = find_unary(rewriter, variance->x, UnaryOp::square);
  if (!axis || square < 0) return false;
  match.axis = *axis;
  match.layers.insert(match.layers.end(), {variance->layer, square});
  // (x − m)² and (m − x)² are the same.
  const int difference = find_binary(rewriter, rewriter.layer(square).inputs[0], BinaryOp::sub);
  if (difference < 0) return false;
  const std::vector<TensorId>& terms = rewriter.layer(difference).inputs;
  if (!(terms[0] == match.x && terms[1] == m) && !(terms[1] == match.x && terms[0] == m))
    return false;
  match.layers.push_back(difference);
  const auto mean = find_reduction(rewriter, m, "mean");
  if (!mean || mean->x != match.x || mean->axes != variance->axes) return false;
  match.layers.push_back(mean->layer);
  return true;
}

// x · r + (bias − m · r), the sum's operands in this order.
std::optional<Match> match_tensorflow(const Rewriter& rewriter, int root, std::size_t k) {
  if (binary_of(rewriter.layer(root)) != BinaryOp::add) return std::nullopt;
  const std::vector<TensorId>& terms = rewriter.layer(root).inputs;
  const int scaled = find_binary(rewriter, terms[k], BinaryOp::mul);
  const int rest = find_binary(rewriter, terms[1 - k], BinaryOp::sub);
  if (scaled < 0 || rest < 0) return std::nullopt;
  const int shift = find_binary(rewriter, rewriter.layer(rest).inputs[1], BinaryOp::mul);
  if (shift < 0) return std::nullopt;
  for (const std::size_t a : {0u, 1u})
    for (const std::size_t b : {0u, 1u}) {
      const TensorId r = rewriter.layer(scaled).inputs[1 - a];
      if (rewriter.layer(shift).inputs[1 - b] != r) continue;
      Match match;
      match.x = rewriter.layer(scaled).inputs[a];
      match.bias = rewriter.layer(rest).inputs[0];
      match.layers = {root, scaled, rest, shift};
      if (match_scaled_deviation(rewriter, r, rewriter.layer(shift).inputs[b], match)) return match;
    }
  return std::nullopt;
}

// Scale and bias must vary along the normalised axes only.
bool are_parameters(const Rewriter& rewriter, const Match& match) {
  const TensorDef& x = rewriter.tensor(match.x);
  for (const TensorId id : {match.scale, match.bias}) {
    if (id == kNoTensor) continue;
    const TensorDef& def = rewriter.tensor(id);
    if (def.type != x.type || !broadcasts_to(def.shape, x.shape) ||
        def.shape.rank() > x.shape.rank() - match.axis)
      return false;
  }
  return true;
}

std::optional<Match> match_layer_norm(const Rewriter& rewriter, int root) {
  std::optional<Match> match = match_usual(rewriter, root);
  for (std::size_t k = 0; k < 2 && !match; ++k) match = match_tensorflow(rewriter, root, k);
  if (!match || !are_parameters(rewriter, *match) ||
      !is_closed(rewriter, match->layers, rewriter.layer(root).outputs[0]))
    return std::nullopt;
  return match;
}

}  // namespace

Status fuse_layer_norm(Rewriter& rewriter, int i) {
  if (const std::optional<Match> match = match_layer_norm(rewriter, i)) {
    const LayerType* const layer_norm = rewriter.context().type("layer_norm");
    if (layer_norm == nullptr) return {};
    Params params;
    params.set("axis", std::int64_t{match->axis});
    params.set("epsilon", match->epsilon);
    std::vector<TensorId> inputs = {match->x};
    if (match->scale != kNoTensor || match->bias != kNoTensor) inputs.push_back(match->scale);
    if (match->bias != kNoTensor) inputs.push_back(match->bias);
    rewriter.replace(match->layers, i, *layer_norm, std::move(inputs), std::move(params));
  }
  // Whether found here or imported: a scale only before a bias.
  if (rewriter.layer(i).type->name != "layer_norm") return {};
  if (!has_input(rewriter.layer(i), 2))
    SN_RETURN_IF_ERROR(take_in_operand(rewriter, i, 1, BinaryOp::mul).status());
  return take_in_operand(rewriter, i, 2, BinaryOp::add).status();
}

}  // namespace softneuro
