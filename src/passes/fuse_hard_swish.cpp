// fuse_hard_swish: x times a hard sigmoid of x is a hard swish.
//
//   x · clip(x + 3, 0, 6) / 6,  (x / 6) · clip(x + 3, 0, 6),  x · hard_sigmoid(x)
//
// In general k · x · clip(a·x + b, 0, high) with k · high = 1, or x · hard_sigmoid(x; a, b).
#include "passes/pattern.h"

namespace softneuro {
namespace {

struct Gate {
  double alpha;
  double beta;
  std::vector<int> layers;
};

// The gate as clamp(alpha·x + beta, 0, 1), the factor of the product included.
std::optional<Gate> match_gate(const Rewriter& rewriter, const GatedProduct& product,
                               DataType type) {
  const int clip = rewriter.producer(product.gate);
  if (clip < 0) return std::nullopt;
  const Layer& layer = rewriter.layer(clip);
  if (unary_of(layer) == UnaryOp::hard_sigmoid) {
    if (product.factor != 1 || layer.inputs[0] != product.x) return std::nullopt;
    return Gate{layer.params.real("alpha"), layer.params.real("beta"), {clip}};
  }
  const std::optional<Limits> limits = limits_of(layer);
  if (!limits || limits->low != 0 || !(product.factor > 0) ||
      !is_close(product.factor * limits->high, 1, type))
    return std::nullopt;
  const auto inner = linear_in(rewriter, layer.inputs[0], product.x);
  if (!inner || inner->layer < 0) return std::nullopt;
  return Gate{product.factor * inner->alpha, product.factor * inner->beta, {clip, inner->layer}};
}

}  // namespace

Status fuse_hard_swish(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  const LayerType* unary = context.type("unary");
  for (int i = 0; unary != nullptr && i < rewriter.count(); ++i) {
    if (!rewriter.alive(i)) continue;
    const TensorId y = rewriter.layer(i).outputs[0];
    for (GatedProduct& product : gated_products(rewriter, i)) {
      const std::optional<Gate> gate = match_gate(rewriter, product, rewriter.tensor(y).type);
      if (!gate) continue;
      product.layers.insert(product.layers.end(), gate->layers.begin(), gate->layers.end());
      if (!rewriter.is_closed(product.layers, y)) continue;
      rewriter.replace(product.layers, i, *unary, {product.x},
                       unary_params(UnaryOp::hard_swish, gate->alpha, gate->beta));
      break;
    }
  }
  return rewriter.finish();
}

}  // namespace softneuro
