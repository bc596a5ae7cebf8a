// fuse_mish: x · tanh(softplus(x)) is a mish. Exact up to rounding.
#include "passes/pattern.h"

namespace softneuro {
namespace {

std::optional<Params> match_mish(const Rewriter& rewriter, GatedProduct& product, DataType) {
  const int tanh = find_unary(rewriter, product.gate, UnaryOp::tanh);
  if (product.factor != 1 || tanh < 0) return std::nullopt;
  const int plus = find_unary(rewriter, rewriter.layer(tanh).inputs[0], UnaryOp::softplus);
  if (plus < 0 || rewriter.layer(plus).inputs[0] != product.x) return std::nullopt;
  product.layers.insert(product.layers.end(), {tanh, plus});
  return unary_params(UnaryOp::mish);
}

}  // namespace

Status fuse_mish(Rewriter& rewriter, int i) {
  return fuse_gated_products(rewriter, i, match_mish);
}

}  // namespace softneuro
