// fuse_hard_swish: x times a hard sigmoid of x is a hard swish.
//
//   x · clip(x + 3, 0, 6) / 6,  (x / 6) · clip(x + 3, 0, 6),  x · hard_sigmoid(x)
//
// In general k · x · clip(a·x + b, 0, high) with k · high = 1, or x · hard_sigmoid(x; a, b). What
// may be lost: as by fuse_hard_sigmoid.
#include <cmath>

#include "passes/pattern.h"
#include "passes/rounding.h"

namespace softneuro {
namespace {

// The gate is clamp(alpha·x + beta, 0, 1), the factor of the product included.
std::optional<Params> match_hard_swish(const Rewriter& rewriter, GatedProduct& product,
                                       DataType type) {
  const int clip = rewriter.producer(product.gate);
  if (clip < 0) return std::nullopt;
  const Layer& layer = rewriter.layer(clip);
  product.layers.push_back(clip);
  if (unary_of(layer) == UnaryOp::hard_sigmoid) {
    if (product.factor != 1 || layer.inputs[0] != product.x) return std::nullopt;
    return unary_params(UnaryOp::hard_swish, layer.params.real("alpha"), layer.params.real("beta"));
  }
  const std::optional<Limits> limits = limits_of(layer);
  if (!limits || limits->low != 0 || !(product.factor > 0) ||
      !is_close(product.factor * limits->high, 1, type))
    return std::nullopt;
  const auto inner = linear_in(rewriter, layer.inputs[0], product.x);
  if (!inner || inner->layer < 0 || !(std::fabs(product.factor * inner->beta) <= kMostUnitsOfShift))
    return std::nullopt;
  product.layers.push_back(inner->layer);
  return unary_params(UnaryOp::hard_swish, product.factor * inner->alpha,
                      product.factor * inner->beta);
}

}  // namespace

Status fuse_hard_swish(Rewriter& rewriter, int i) {
  return fuse_gated_products(rewriter, i, match_hard_swish);
}

}  // namespace softneuro
