// fuse_softplus: log(exp(x) + 1) is a softplus, which does not overflow for large x, nor vanish in
// the sum for small ones. Else exact up to rounding.
#include "passes/pattern.h"

namespace softneuro {

Status fuse_softplus(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = 0; i < rewriter.count(); ++i) {
    if (!rewriter.alive(i) || unary_of(rewriter.layer(i)) != UnaryOp::log) continue;
    const TensorId y = rewriter.layer(i).outputs[0];
    const Linear sum = strip_linear(rewriter, rewriter.layer(i).inputs[0]);
    if (sum.layer < 0 || sum.alpha != 1 || sum.beta != 1) continue;
    const int exponential = find_unary(rewriter, sum.x, UnaryOp::exp);
    if (exponential < 0) continue;
    const int matched[] = {i, sum.layer, exponential};
    if (!is_closed(rewriter, matched, y)) continue;
    rewriter.replace(matched, i, *rewriter.layer(i).type, {rewriter.layer(exponential).inputs[0]},
                     unary_params(UnaryOp::softplus));
  }
  return rewriter.finish();
}

}  // namespace softneuro
