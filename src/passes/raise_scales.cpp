// raise_scales: a scalar factor or shift moves up past a reshape, to the layer with weights that
// makes its operand and can take it in (fold_affine).
//
//   dense → reshape [→ transpose] → · s → Q · Kᵀ     becomes     dense · s → reshape → …
//
// Exact: every element meets the same arithmetic. The factor stays in front of the product where
// nothing takes it in: behind the product it would let sums overflow, or vanish, that the model
// keeps in range by scaling first. (sink_transposes moves the transpose down past the factor.)
#include "passes/pattern.h"

namespace softneuro {
namespace {

// The reshape that makes `id`, for this reader alone, of what a layer with weights makes; else −1.
int reshape_of_product(const Rewriter& rewriter, TensorId id) {
  const int reshape = rewriter.producer(id);
  if (reshape < 0 || !rewriter.has_single_use(id)) return -1;
  const Layer& view = rewriter.layer(reshape);
  if (!view.type->is_view || !view.post_ops.empty() || rewriter.tensor(id).quantization) return -1;
  const TensorId x = view.inputs[0];
  const int product = rewriter.producer(x);
  if (product < 0 || !rewriter.has_single_use(x) || rewriter.tensor(x).quantization) return -1;
  const Layer& maker = rewriter.layer(product);
  return maker.type->weights && maker.post_ops.empty() ? reshape : -1;
}

void exchange(Rewriter& rewriter, int reshape, int scale) {
  const TensorId y = rewriter.layer(scale).outputs[0];
  const TensorId x = rewriter.layer(reshape).inputs[0];
  TensorDef def;
  def.name = rewriter.tensor(y).name + "_raised";
  def.type = rewriter.tensor(x).type;
  def.shape = rewriter.tensor(x).shape;
  const TensorId scaled = rewriter.add_tensor(std::move(def));
  rewriter.set_input(scale, 0, x);
  rewriter.set_output(scale, 0, scaled);
  rewriter.set_input(reshape, 0, scaled);
  rewriter.set_output(reshape, 0, y);
  ++rewriter.context().changes;
}

}  // namespace

Status raise_scales(Rewriter& rewriter, int i) {
  const std::optional<Linear> linear = linear_of(rewriter, i);
  if (!linear) return {};
  const int reshape = reshape_of_product(rewriter, linear->x);
  if (reshape < 0) return {};
  const DynamicShape& shape = rewriter.tensor(rewriter.layer(reshape).inputs[0]).shape;
  // A divisor of more dimensions would lend them to the result.
  const Layer& layer = rewriter.layer(i);
  if (layer.inputs.size() > 1 && !broadcasts_to(rewriter.tensor(layer.inputs[1]).shape, shape))
    return {};
  exchange(rewriter, reshape, i);
  return {};
}

}  // namespace softneuro
