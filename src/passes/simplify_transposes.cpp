// simplify_transposes: a transpose of a transpose is one transpose, and one that only moves
// dimensions of size 1 past others is a reshape, which costs nothing.
#include <algorithm>

#include "passes/constants.h"
#include "passes/pattern.h"

namespace softneuro {
namespace {

using Permutation = std::vector<std::int64_t>;

// The permutation with the default written out; nothing if the rank is unknown then.
std::optional<Permutation> permutation_of(const Rewriter& rewriter, const Layer& layer) {
  if (layer.type->name != "transpose" || !layer.post_ops.empty()) return std::nullopt;
  const auto perm = layer.params.integers("perm");
  if (!perm.empty()) return Permutation(perm.begin(), perm.end());
  const DynamicShape& shape = rewriter.tensor(layer.inputs[0]).shape;
  if (!shape.ranked()) return std::nullopt;
  Permutation reversed;
  for (int i = shape.rank() - 1; i >= 0; --i) reversed.push_back(i);
  return reversed;
}

bool is_identity(const Permutation& perm) {
  return std::is_sorted(perm.begin(), perm.end());
}

bool merge_transposes(Rewriter& rewriter, int i) {
  const TensorId middle = rewriter.layer(i).inputs[0];
  const int before = rewriter.producer(middle);
  if (before < 0) return false;
  const auto second = permutation_of(rewriter, rewriter.layer(i));
  const auto first = permutation_of(rewriter, rewriter.layer(before));
  if (!second || !first || first->size() != second->size()) return false;
  Permutation both;
  for (const std::int64_t axis : *second) both.push_back((*first)[static_cast<std::size_t>(axis)]);
  const bool alone = rewriter.has_single_use(middle);
  if (!alone && !is_identity(both)) return false;
  Params params;
  params.set("perm", both);
  std::vector<int> matched = {i};
  if (alone) matched.push_back(before);
  const TensorId x = rewriter.layer(before).inputs[0];
  rewriter.replace(matched, i, *rewriter.layer(i).type, {x}, std::move(params));
  return true;
}

bool is_one(const Dim& dim) {
  return dim.known() && dim.value == 1;
}

// The result's dimensions as a reshape's target, if the transpose leaves the elements in order.
std::optional<Permutation> reshape_target(const Rewriter& rewriter, const Layer& layer) {
  const auto perm = permutation_of(rewriter, layer);
  const DynamicShape& x = rewriter.tensor(layer.inputs[0]).shape;
  if (!perm || is_identity(*perm) || !x.ranked() ||
      perm->size() != static_cast<std::size_t>(x.rank()))
    return std::nullopt;
  Permutation target;
  std::int64_t last = -1;
  bool has_zero = false;
  for (const std::int64_t axis : *perm) {
    const Dim& dim = x[static_cast<int>(axis)];
    target.push_back(dim.known() ? dim.value : -1);
    has_zero |= dim.known() && dim.value == 0;
    if (is_one(dim)) continue;
    if (axis < last) return std::nullopt;
    last = axis;
  }
  if (std::count(target.begin(), target.end(), -1) > (has_zero ? 0 : 1)) return std::nullopt;
  return target;
}

Result<bool> make_reshape(Rewriter& rewriter, int i) {
  const LayerType* reshape = rewriter.context().type("reshape");
  const auto target = reshape_target(rewriter, rewriter.layer(i));
  if (!target || reshape == nullptr) return false;
  SN_ASSIGN_OR_RETURN(Tensor shape, make_integers(*target, rewriter.context().allocator()));
  const TensorId shape_id =
      rewriter.add_constant(rewriter.layer(i).name + "_shape", std::move(shape));
  Params params;
  params.set("allow_zero", std::int64_t{1});
  const int matched[] = {i};
  rewriter.replace(matched, i, *reshape, {rewriter.layer(i).inputs[0], shape_id},
                   std::move(params));
  return true;
}

}  // namespace

Status simplify_transposes(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = 0; i < rewriter.count(); ++i) {
    if (!rewriter.alive(i) || rewriter.layer(i).type->name != "transpose") continue;
    if (!merge_transposes(rewriter, i)) SN_RETURN_IF_ERROR(make_reshape(rewriter, i).status());
  }
  return rewriter.finish();
}

}  // namespace softneuro
