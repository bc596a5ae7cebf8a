// fuse_softplus: log(exp(x) + 1) is a softplus, which does not overflow for large x, nor vanish in
// the sum for small ones. Else exact up to rounding.
#include "passes/pattern.h"

namespace softneuro {

Status fuse_softplus(Rewriter& rewriter, int i) {
  if (unary_of(rewriter.layer(i)) != UnaryOp::log) return {};
  const TensorId y = rewriter.layer(i).outputs[0];
  const Linear sum = strip_linear(rewriter, rewriter.layer(i).inputs[0]);
  if (sum.layer < 0 || sum.alpha != 1 || sum.beta != 1) return {};
  const int exponential = find_unary(rewriter, sum.x, UnaryOp::exp);
  if (exponential < 0) return {};
  const int matched[] = {i, sum.layer, exponential};
  if (!is_closed(rewriter, matched, y)) return {};
  rewriter.replace(matched, i, *rewriter.layer(i).type, {rewriter.layer(exponential).inputs[0]},
                   unary_params(UnaryOp::softplus));
  return {};
}

}  // namespace softneuro
