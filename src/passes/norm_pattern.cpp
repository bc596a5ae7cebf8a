#include "passes/norm_pattern.h"

#include <cmath>

#include "passes/constants.h"

namespace softneuro {
namespace {

// v = mean + epsilon.
bool match_variance(const Rewriter& rewriter, TensorId id, InverseDeviation& match) {
  const Linear sum = strip_linear(rewriter, id);
  if (sum.alpha != 1 || !(sum.beta >= 0) || !std::isfinite(sum.beta)) return false;
  if (sum.layer >= 0) match.layers.push_back(sum.layer);
  match.mean = sum.x;
  match.epsilon = sum.beta;
  return true;
}

// mean(n²): the axis it starts at.
std::optional<int> match_mean_square(const Rewriter& rewriter, TensorId mean, TensorId n,
                                     std::vector<int>& layers) {
  const std::optional<Reduction> reduction = find_reduction(rewriter, mean, "mean");
  if (!reduction) return std::nullopt;
  const int square = find_unary(rewriter, reduction->x, UnaryOp::square);
  if (square < 0 || rewriter.layer(square).inputs[0] != n) return std::nullopt;
  layers.insert(layers.end(), {reduction->layer, square});
  return trailing_axis(reduction->axes, rewriter.tensor(n).shape.rank());
}

// The operand as a tensor over the normalised axes (leading dimensions of 1 taken off, which only
// a constant allows here); kNoTensor if it varies along others, or more than x.
Result<TensorId> as_parameter(Rewriter& rewriter, TensorId operand, const DynamicShape& x,
                              int axis) {
  const TensorDef& def = rewriter.tensor(operand);
  if (!broadcasts_to(def.shape, x)) return kNoTensor;
  const int extra = def.shape.rank() - (x.rank() - axis);
  if (extra <= 0) return operand;
  if (!def.is_constant()) return kNoTensor;
  const Shape& shape = def.constant.shape();
  if (shape.elements(0, extra) != 1) return kNoTensor;
  SN_ASSIGN_OR_RETURN(
      Tensor trimmed,
      def.constant.reshaped(Shape(shape.dims().subspan(static_cast<std::size_t>(extra)))));
  return rewriter.add_constant(def.name, std::move(trimmed));
}

}  // namespace

std::optional<InverseDeviation> match_inverse_deviation(const Rewriter& rewriter, TensorId id) {
  InverseDeviation match;
  if (const int power = find_binary(rewriter, id, BinaryOp::pow); power >= 0) {
    match.layers = {power};
    const std::vector<TensorId>& operands = rewriter.layer(power).inputs;
    if (scalar_of(rewriter.graph(), operands[1]) != -0.5) return std::nullopt;
    if (match_variance(rewriter, operands[0], match)) return match;
    return std::nullopt;
  }
  // The reciprocal of the root, or the root of the reciprocal.
  for (const auto& [outer_op, inner_op] : {std::pair(UnaryOp::reciprocal, UnaryOp::sqrt),
                                           std::pair(UnaryOp::sqrt, UnaryOp::reciprocal)}) {
    const int outer = find_unary(rewriter, id, outer_op);
    if (outer < 0) continue;
    const int inner = find_unary(rewriter, rewriter.layer(outer).inputs[0], inner_op);
    if (inner < 0) continue;
    match.layers = {outer, inner};
    if (match_variance(rewriter, rewriter.layer(inner).inputs[0], match)) return match;
  }
  return std::nullopt;
}

std::optional<Normalized> match_normalized(const Rewriter& rewriter, int root) {
  const std::optional<BinaryOp> op = binary_of(rewriter.layer(root));
  if (op != BinaryOp::div && op != BinaryOp::mul) return std::nullopt;
  const std::vector<TensorId>& operands = rewriter.layer(root).inputs;
  for (const std::size_t k : {0u, 1u}) {
    Normalized match{operands[k], 0, 0, {root}};
    std::optional<InverseDeviation> deviation;
    if (op == BinaryOp::mul) {
      deviation = match_inverse_deviation(rewriter, operands[1 - k]);
    } else if (k == 0) {
      const int sqrt = find_unary(rewriter, operands[1], UnaryOp::sqrt);
      InverseDeviation found;
      found.layers = {sqrt};
      if (sqrt >= 0 && match_variance(rewriter, rewriter.layer(sqrt).inputs[0], found))
        deviation = std::move(found);
    }
    if (!deviation) continue;
    match.epsilon = deviation->epsilon;
    match.layers.insert(match.layers.end(), deviation->layers.begin(), deviation->layers.end());
    const auto axis = match_mean_square(rewriter, deviation->mean, match.numerator, match.layers);
    if (!axis) continue;
    match.axis = *axis;
    return match;
  }
  return std::nullopt;
}

Result<bool> take_in_operand(Rewriter& rewriter, int norm, std::size_t input, BinaryOp op) {
  const Layer& layer = rewriter.layer(norm);
  const TensorId y = layer.outputs[0];
  if (!layer.post_ops.empty() || has_input(layer, input) || !rewriter.has_single_use(y))
    return false;
  const int next = rewriter.uses().first(y)->layer;
  if (binary_of(rewriter.layer(next)) != op) return false;
  const std::vector<TensorId>& operands = rewriter.layer(next).inputs;
  const TensorId operand = operands[0] == y ? operands[1] : operands[0];
  const DynamicShape& x = rewriter.tensor(y).shape;
  if (!x.ranked() || rewriter.tensor(operand).type != rewriter.tensor(y).type ||
      !same_shape(x, rewriter.tensor(rewriter.layer(next).outputs[0]).shape))
    return false;
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(layer.params.integer("axis"), x.rank()));
  SN_ASSIGN_OR_RETURN(const TensorId parameter, as_parameter(rewriter, operand, x, axis));
  if (parameter == kNoTensor) return false;
  absorb(rewriter, norm, next);
  rewriter.set_input(norm, input, parameter);
  return true;
}

}  // namespace softneuro
