// simplify_transposes: a transpose of a transpose is one transpose, and one that only moves
// dimensions of size 1 past others is a reshape, which costs nothing.
#include <algorithm>

#include "passes/pattern.h"

namespace softneuro {
namespace {

bool is_identity(std::span<const int> perm) {
  return std::is_sorted(perm.begin(), perm.end());
}

bool merge_transposes(Rewriter& rewriter, int i) {
  const TensorId middle = rewriter.layer(i).inputs[0];
  const int before = rewriter.producer(middle);
  if (before < 0) return false;
  const auto second = permutation_of(rewriter, rewriter.layer(i));
  const auto first = permutation_of(rewriter, rewriter.layer(before));
  if (!second || !first || first->size() != second->size()) return false;
  std::vector<int> both;
  for (const int axis : *second) both.push_back((*first)[static_cast<std::size_t>(axis)]);
  const bool alone = rewriter.has_single_use(middle);
  if (!alone && !is_identity(both)) return false;
  Params params;
  params.set("perm", std::vector<std::int64_t>(both.begin(), both.end()));
  std::vector<int> matched = {i};
  if (alone) matched.push_back(before);
  const TensorId x = rewriter.layer(before).inputs[0];
  return rewriter.replace(matched, i, *rewriter.layer(i).type, {x}, std::move(params));
}

// The transpose leaves the elements in order: only dimensions of size 1 move.
bool keeps_order(const Rewriter& rewriter, const Layer& layer) {
  const auto perm = permutation_of(rewriter, layer);
  const DynamicShape& x = rewriter.tensor(layer.inputs[0]).shape;
  if (!perm || is_identity(*perm) || !x.ranked() ||
      perm->size() != static_cast<std::size_t>(x.rank()))
    return false;
  int last = -1;
  for (const int axis : *perm) {
    if (x[axis] == Dim(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Status make_reshape(Rewriter& rewriter, int i) {
  const Layer& layer = rewriter.layer(i);
  if (rewriter.context().type("reshape") == nullptr || !keeps_order(rewriter, layer)) return {};
  const auto target = reshape_target(rewriter.tensor(layer.outputs[0]).shape);
  return target ? replace_by_reshape(rewriter, {}, i, layer.inputs[0], *target) : Status();
}

}  // namespace

Status simplify_transposes(Rewriter& rewriter, int i) {
  if (rewriter.layer(i).type->name != "transpose") return {};
  return merge_transposes(rewriter, i) ? Status() : make_reshape(rewriter, i);
}

}  // namespace softneuro
