// fold_affine: + − × ÷ by constants per channel beside a layer with constant weights goes into
// weights and bias (a bias added apart, a scale, the pixels' normalisation before the first
// convolution). Before the layer, a shift only where there is no padding, which it would not meet.
#include <algorithm>
#include <cmath>

#include "passes/constants.h"
#include "passes/pattern.h"
#include "passes/weights.h"

namespace softneuro {
namespace {

// What the layer `i` does to channel c of its input `y`: scale[c]·y + shift[c].
std::optional<PerChannel> affine_of(const Rewriter& rewriter, int i, TensorId y,
                                    std::int64_t channels, int axis) {
  const auto count = static_cast<std::size_t>(channels);
  PerChannel affine{std::vector<double>(count, 1.0), std::vector<double>(count, 0.0)};
  if (const auto linear = linear_of(rewriter, i)) {
    affine.scale.assign(count, linear->alpha);
    affine.shift.assign(count, linear->beta);
    return affine;
  }
  const Layer& layer = rewriter.layer(i);
  const std::optional<BinaryOp> op = binary_of(layer);
  if (!op) return std::nullopt;
  const bool left = layer.inputs[0] == y;  // y is the first operand
  const TensorDef& operand = rewriter.tensor(layer.inputs[left ? 1 : 0]);
  if (!operand.is_constant()) return std::nullopt;
  const auto values =
      values_along(operand.constant, rewriter.tensor(y).shape.rank(), axis, channels);
  if (!values) return std::nullopt;
  for (std::size_t c = 0; c < count; ++c) {
    const double v = (*values)[c];
    switch (*op) {
      case BinaryOp::add:
        affine.shift[c] = v;
        break;
      case BinaryOp::sub:
        affine.scale[c] = left ? 1 : -1;
        affine.shift[c] = left ? -v : v;
        break;
      case BinaryOp::mul:
        affine.scale[c] = v;
        break;
      case BinaryOp::div:
        if (!left || !std::isnormal(v)) return std::nullopt;
        affine.scale[c] = 1 / v;
        break;
      default:
        return std::nullopt;
    }
  }
  return affine;
}

bool is_all(const std::vector<double>& values, double expected) {
  return std::all_of(values.begin(), values.end(), [=](double v) { return v == expected; });
}

// Takes in the layer behind `weighted`; false if that is none of these.
Result<bool> fold_next(Rewriter& rewriter, const WeightedLayer& weighted) {
  const TensorId y = rewriter.layer(weighted.layer).outputs[0];
  const DynamicShape& shape = rewriter.tensor(y).shape;
  if (!rewriter.has_single_use(y) || !shape.ranked()) return false;
  const int next = rewriter.consumers(y)[0];
  if (!same_shape(shape, rewriter.tensor(rewriter.layer(next).outputs[0]).shape)) return false;
  const auto affine =
      affine_of(rewriter, next, y, weighted.outputs, weighted.type->channel_axis_of(shape.rank()));
  if (!affine) return false;
  SN_ASSIGN_OR_RETURN(const bool folded, fold_after(rewriter, weighted, *affine));
  if (folded) rewriter.absorb(weighted.layer, next);
  return folded;
}

// The same for the layer before it.
Result<bool> fold_previous(Rewriter& rewriter, const WeightedLayer& weighted) {
  const Layer& layer = rewriter.layer(weighted.layer);
  const TensorId x = layer.inputs[0];
  const DynamicShape& shape = rewriter.tensor(x).shape;
  const int before = rewriter.producer(x);
  if (before < 0 || !rewriter.has_single_use(x) || !shape.ranked() || shape.rank() < 1)
    return false;
  for (const TensorId source : rewriter.layer(before).inputs) {
    if (source == kNoTensor || rewriter.tensor(source).is_constant() ||
        !same_shape(shape, rewriter.tensor(source).shape))
      continue;
    const auto affine = affine_of(rewriter, before, source, weighted.inputs,
                                  weighted.type->channel_axis_of(shape.rank()));
    if (!affine || (!is_all(affine->shift, 0) && !weighted.sums_all)) continue;
    SN_ASSIGN_OR_RETURN(const bool folded, fold_before(rewriter, weighted, *affine));
    if (!folded) return false;
    rewriter.add_sources(weighted.layer, before);
    rewriter.remove(before);
    rewriter.set_input(weighted.layer, 0, source);
    return true;
  }
  return false;
}

}  // namespace

Status fold_affine(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = 0; i < rewriter.count(); ++i) {
    // One after the other while they fit: × scale, + bias.
    for (bool folded = true; folded && rewriter.alive(i);) {
      const auto weighted = weighted_layer(rewriter, i);
      if (!weighted) break;
      SN_ASSIGN_OR_RETURN(folded, fold_next(rewriter, *weighted));
      if (!folded) {
        SN_ASSIGN_OR_RETURN(folded, fold_previous(rewriter, *weighted));
      }
      if (folded) rewriter.count_change();
    }
  }
  return rewriter.finish();
}

}  // namespace softneuro
