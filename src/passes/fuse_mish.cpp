// fuse_mish: x · tanh(softplus(x)) is a mish.
#include "passes/pattern.h"

namespace softneuro {

Status fuse_mish(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  const LayerType* unary = context.type("unary");
  for (int i = 0; unary != nullptr && i < rewriter.count(); ++i) {
    if (!rewriter.alive(i)) continue;
    for (GatedProduct& product : gated_products(rewriter, i)) {
      if (product.factor != 1) continue;
      const int tanh = find_unary(rewriter, product.gate, UnaryOp::tanh);
      if (tanh < 0) continue;
      const int plus = find_unary(rewriter, rewriter.layer(tanh).inputs[0], UnaryOp::softplus);
      if (plus < 0 || rewriter.layer(plus).inputs[0] != product.x) continue;
      product.layers.insert(product.layers.end(), {tanh, plus});
      if (!rewriter.is_closed(product.layers, rewriter.layer(i).outputs[0])) continue;
      rewriter.replace(product.layers, i, *unary, {product.x}, unary_params(UnaryOp::mish));
      break;
    }
  }
  return rewriter.finish();
}

}  // namespace softneuro
