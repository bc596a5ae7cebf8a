// fuse_silu: x · sigmoid(x) is a SiLU (swish); x · sigmoid(1.702·x), the quick GELU, is one too.
#include "passes/pattern.h"

namespace softneuro {

Status fuse_silu(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  const LayerType* unary = context.type("unary");
  for (int i = 0; unary != nullptr && i < rewriter.count(); ++i) {
    if (!rewriter.alive(i)) continue;
    for (GatedProduct& product : gated_products(rewriter, i)) {
      if (product.factor != 1) continue;
      const int sigmoid = find_unary(rewriter, product.gate, UnaryOp::sigmoid);
      if (sigmoid < 0) continue;
      const auto inner = linear_in(rewriter, rewriter.layer(sigmoid).inputs[0], product.x);
      if (!inner || inner->beta != 0) continue;
      product.layers.push_back(sigmoid);
      if (inner->layer >= 0) product.layers.push_back(inner->layer);
      if (!rewriter.is_closed(product.layers, rewriter.layer(i).outputs[0])) continue;
      rewriter.replace(product.layers, i, *unary, {product.x},
                       unary_params(UnaryOp::silu, inner->alpha));
      break;
    }
  }
  return rewriter.finish();
}

}  // namespace softneuro
