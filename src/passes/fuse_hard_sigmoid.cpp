// fuse_hard_sigmoid: a straight line clipped to [0, 1] is a hard sigmoid.
//
//   clip(x + 3, 0, 6) / 6,  clip(x / 6 + 0.5, 0, 1): hard_sigmoid(alpha = 1/6, beta = 1/2)
//
// In general c · clip(a·x + b, low, high) + d with c > 0, c·low + d = 0 and c·high + d = 1.
#include "passes/pattern.h"

namespace softneuro {

Status fuse_hard_sigmoid(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  const LayerType* unary = context.type("unary");
  for (int i = 0; unary != nullptr && i < rewriter.count(); ++i) {
    if (!rewriter.alive(i)) continue;
    const TensorId y = rewriter.layer(i).outputs[0];
    if (y == kNoTensor) continue;
    std::vector<int> matched = {i};
    Linear outer;
    int clip = i;
    if (const auto scaled = linear_of(rewriter, i)) {
      outer = *scaled;
      clip = rewriter.producer(outer.x);
      matched.push_back(clip);
    }
    const auto limits = clip < 0 ? std::nullopt : limits_of(rewriter.layer(clip));
    const DataType type = rewriter.tensor(y).type;
    if (!limits || !(outer.alpha > 0) ||
        !is_close(outer.alpha * limits->low + outer.beta, 0, type) ||
        !is_close(outer.alpha * limits->high + outer.beta, 1, type))
      continue;
    const Linear inner = strip_linear(rewriter, rewriter.layer(clip).inputs[0]);
    // A plain clip(x, 0, 1) is simpler than a hard sigmoid.
    if (inner.layer < 0) continue;
    matched.push_back(inner.layer);
    if (!is_closed(rewriter, matched, y)) continue;
    rewriter.replace(matched, i, *unary, {inner.x},
                     unary_params(UnaryOp::hard_sigmoid, outer.alpha * inner.alpha,
                                  outer.alpha * inner.beta + outer.beta));
  }
  return rewriter.finish();
}

}  // namespace softneuro
