// fold_affine: + − × ÷ by constants per channel beside a layer with constant weights goes into
// weights and bias (a bias added apart, a scale, the pixels' normalisation before the first
// convolution). Before the layer, a shift only where there is no padding, which it would not meet,
// and where it is small. What may be lost: weights.h. Quotients become products with 1/c, within
// the rounding of the layer's sums; behind and before layers that may not round at all they stay.
#include <cmath>

#include "passes/constants.h"
#include "passes/pattern.h"
#include "passes/weights.h"

namespace softneuro {
namespace {

std::optional<PerChannel> affine_of(const Rewriter& rewriter, int i, TensorId x,
                                    std::int64_t channels, int axis) {
  const auto count = static_cast<std::size_t>(channels);
  if (const auto linear = linear_of(rewriter, i))
    return PerChannel{std::vector<double>(count, linear->alpha),
                      std::vector<double>(count, linear->beta)};
  const Layer& layer = rewriter.layer(i);
  const std::optional<BinaryOp> op = binary_of(layer);
  const DynamicShape& shape = rewriter.tensor(x).shape;
  if (!op) return std::nullopt;
  PerChannel affine{std::vector<double>(count, 1.0), std::vector<double>(count, 0.0)};
  const bool left = layer.inputs[0] == x;  // x is the first operand
  const TensorDef& operand = rewriter.tensor(layer.inputs[left ? 1 : 0]);
  if (!operand.is_constant()) return std::nullopt;
  const auto values = values_along(operand.constant, shape.rank(), axis, channels);
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

Status fold_affine(Rewriter& rewriter, int i) {
  // One after the other while they fit: × scale, + bias.
  for (bool folded = true; folded && rewriter.alive(i);) {
    const auto weighted = weighted_layer(rewriter, i);
    if (!weighted) break;
    SN_ASSIGN_OR_RETURN(folded, fold_next(rewriter, *weighted, affine_of));
    if (!folded) {
      SN_ASSIGN_OR_RETURN(folded, fold_previous(rewriter, *weighted, affine_of));
    }
  }
  return {};
}

}  // namespace softneuro
