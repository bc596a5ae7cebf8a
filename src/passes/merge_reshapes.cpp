// merge_reshapes: a view (reshape, flatten, squeeze, unsqueeze) of a view is one reshape.
//
// Only the last one's shape counts, as both leave the elements in their row-major order. Views
// cost nothing while running, but they hide patterns: matmul → reshape → reshape → add.
#include <algorithm>

#include "passes/constants.h"
#include "passes/pattern.h"

namespace softneuro {
namespace {

bool is_reshape(const Layer& layer) {
  return layer.type->is_view && layer.post_ops.empty();
}

// A target shape that means the same for any input with as many elements: at most one dimension
// left open, and no zero, which would stand for "as the input".
std::optional<std::vector<std::int64_t>> target_of(const Rewriter& rewriter, const Layer& layer) {
  const DynamicShape& shape = rewriter.tensor(layer.outputs[0]).shape;
  if (shape.ranked()) {
    std::vector<std::int64_t> target;
    for (const Dim& dim : shape.dims()) target.push_back(dim.known() ? dim.value : -1);
    const bool has_zero = std::count(target.begin(), target.end(), 0) > 0;
    if (std::count(target.begin(), target.end(), -1) <= (has_zero ? 0 : 1)) return target;
  }
  for (const ValueInput& value : layer.type->value_inputs) {
    if (value.kind != ValueKind::shape) continue;
    const auto target = constant_integers(rewriter.graph(), layer, value.input);
    if (target && std::count(target->begin(), target->end(), 0) == 0) return target;
  }
  return std::nullopt;
}

}  // namespace

Status merge_reshapes(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  const LayerType* reshape = context.type("reshape");
  for (int i = 0; reshape != nullptr && i < rewriter.count(); ++i) {
    if (!rewriter.alive(i) || !is_reshape(rewriter.layer(i))) continue;
    const int before = rewriter.producer(rewriter.layer(i).inputs[0]);
    if (before < 0 || !is_reshape(rewriter.layer(before))) continue;
    const auto target = target_of(rewriter, rewriter.layer(i));
    if (!target) continue;

    const TensorId x = rewriter.layer(before).inputs[0];
    SN_ASSIGN_OR_RETURN(Tensor shape, make_integers(*target, context.allocator()));
    const TensorId shape_id =
        rewriter.add_constant(rewriter.layer(i).name + "_shape", std::move(shape));
    Params params;
    params.set("allow_zero", std::int64_t{1});
    std::vector<int> matched = {i};
    if (rewriter.has_single_use(rewriter.layer(i).inputs[0])) matched.push_back(before);
    rewriter.replace(matched, i, *reshape, {x, shape_id}, std::move(params));
  }
  return rewriter.finish();
}

}  // namespace softneuro
