// fuse_silu: x · sigmoid(x) is a SiLU (swish); x · sigmoid(1.702·x), the quick GELU, is one too.
// Exact up to rounding.
#include "passes/pattern.h"

namespace softneuro {
namespace {

std::optional<Params> match_silu(const Rewriter& rewriter, GatedProduct& product, DataType) {
  const int sigmoid = find_unary(rewriter, product.gate, UnaryOp::sigmoid);
  if (product.factor != 1 || sigmoid < 0) return std::nullopt;
  const auto inner = linear_in(rewriter, rewriter.layer(sigmoid).inputs[0], product.x);
  if (!inner || inner->beta != 0) return std::nullopt;
  product.layers.push_back(sigmoid);
  if (inner->layer >= 0) product.layers.push_back(inner->layer);
  return unary_params(UnaryOp::silu, inner->alpha);
}

}  // namespace

Status fuse_silu(Rewriter& rewriter, int i) {
  return fuse_gated_products(rewriter, i, match_silu);
}

}  // namespace softneuro
