// merge_reshapes: a view (reshape, flatten, squeeze, unsqueeze) of a view is one reshape.
//
// Only the last one's shape counts, as both leave the elements in their row-major order. Views
// cost nothing while running, but they hide patterns: matmul → reshape → reshape → add.
#include <algorithm>

#include "passes/pattern.h"

namespace softneuro {
namespace {

bool is_reshape(const Layer& layer) {
  return layer.type->is_view && layer.post_ops.empty();
}

// A target shape that means the same for any input with as many elements: at most one dimension
// left open, and no zero, which would stand for "as the input".
std::optional<std::vector<std::int64_t>> target_of(const Rewriter& rewriter, const Layer& layer) {
  if (auto target = reshape_target(rewriter.tensor(layer.outputs[0]).shape)) return target;
  for (const ValueInput& value : layer.type->value_inputs) {
    if (value.kind != ValueKind::shape) continue;
    auto target = constant_integers(rewriter.graph(), layer, value.input);
    if (target && std::count(target->begin(), target->end(), 0) == 0) return target;
  }
  return std::nullopt;
}

}  // namespace

Status merge_reshapes(Rewriter& rewriter, int i) {
  if (!is_reshape(rewriter.layer(i))) return {};
  const int before = rewriter.producer(rewriter.layer(i).inputs[0]);
  if (before < 0 || !is_reshape(rewriter.layer(before))) return {};
  if (rewriter.context().type("reshape") == nullptr) return {};
  const auto target = target_of(rewriter, rewriter.layer(i));
  if (!target) return {};

  const TensorId x = rewriter.layer(before).inputs[0];
  std::vector<int> matched = {i};
  if (rewriter.has_single_use(rewriter.layer(i).inputs[0])) matched.push_back(before);
  return replace_by_reshape(rewriter, matched, i, x, *target);
}

}  // namespace softneuro
