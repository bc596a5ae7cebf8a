// fold_scale_into_matmul: a factor on an operand of a product becomes a factor on the product,
// where it costs nothing: Q · s before Q · Kᵀ in attention. Not in float16, whose range the model
// may have kept to by scaling first.
#include "passes/pattern.h"

namespace softneuro {
namespace {

// The factor of the post-op that is to stand first; 1 if there is none yet.
double leading_factor(const Layer& matmul) {
  if (matmul.post_ops.empty()) return 1;
  const PostOp& first = matmul.post_ops.front();
  const bool scales =
      first.kind == PostOp::Kind::unary && first.unary == UnaryOp::linear && first.beta == 0;
  return scales ? first.alpha : 1;
}

void set_leading_factor(Layer& matmul, double factor) {
  PostOp scale;
  scale.unary = UnaryOp::linear;
  scale.alpha = static_cast<float>(factor);
  if (leading_factor(matmul) == 1)
    matmul.post_ops.insert(matmul.post_ops.begin(), scale);
  else
    matmul.post_ops.front() = scale;
}

}  // namespace

Status fold_scale_into_matmul(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = 0; i < rewriter.count(); ++i) {
    if (rewriter.layer(i).type->name != "matmul") continue;
    const DataType type = rewriter.tensor(rewriter.layer(i).outputs[0]).type;
    // Post-ops hold float32 numbers: too few digits for float64.
    if (type != DataType::float32 && type != DataType::bfloat16) continue;
    for (const std::size_t k : {0u, 1u}) {
      const TensorId operand = rewriter.layer(i).inputs[k];
      const Linear scale = strip_linear(rewriter, operand);
      if (scale.layer < 0 || scale.beta != 0 || !rewriter.has_single_use(operand)) continue;
      set_leading_factor(rewriter.layer(i), scale.alpha * leading_factor(rewriter.layer(i)));
      absorb_before(rewriter, i, k, scale.layer, scale.x);
    }
  }
  return rewriter.finish();
}

}  // namespace softneuro
