// fold_affine: + − × ÷ by constants per channel behind a layer with constant weights goes into
// weights and bias (a bias added apart, a scale; also linear with the same numbers for all).
#include <cmath>

#include "passes/constants.h"
#include "passes/pattern.h"
#include "passes/weights.h"

namespace softneuro {
namespace {

struct PerChannel {
  std::vector<double> scale;
  std::vector<double> shift;
};

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

}  // namespace

Status fold_affine(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = 0; i < rewriter.count(); ++i) {
    // One after the other while they fit: × scale, + bias.
    while (rewriter.alive(i)) {
      const auto weighted = weighted_layer(rewriter, i);
      if (!weighted) break;
      const TensorId y = rewriter.layer(i).outputs[0];
      const DynamicShape& shape = rewriter.tensor(y).shape;
      if (!rewriter.has_single_use(y) || !shape.ranked()) break;
      const int next = rewriter.consumers(y)[0];
      const TensorDef& result = rewriter.tensor(rewriter.layer(next).outputs[0]);
      if (!same_shape(shape, result.shape)) break;
      const auto affine =
          affine_of(rewriter, next, y, weighted->outputs, channel_axis(*weighted, shape.rank()));
      if (!affine) break;
      SN_ASSIGN_OR_RETURN(const bool folded,
                          fold_after(rewriter, *weighted, affine->scale, affine->shift));
      if (!folded) break;
      rewriter.absorb(i, next);
      rewriter.count_change();
    }
  }
  return rewriter.finish();
}

}  // namespace softneuro
