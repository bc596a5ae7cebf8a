// fuse_channel_shuffle: [N, C, S…] reshaped to [N, g, C/g, S…], axes 1 and 2 exchanged, reshaped
// back is a channel_shuffle, which no layout stands in the way of. S may be one dimension in
// between.
#include "passes/pattern.h"

namespace softneuro {
namespace {

// The product of dimensions [first, end), if all are known.
std::optional<std::int64_t> product(const DynamicShape& shape, int first) {
  std::int64_t all = 1;
  for (int i = first; i < shape.rank(); ++i) {
    if (!shape[i].known()) return std::nullopt;
    all *= shape[i].value;
  }
  return all;
}

// The spatial dimensions behind `x`'s second and `wide`'s third are the same elements.
bool same_positions(const DynamicShape& x, const DynamicShape& wide) {
  bool equal = x.rank() + 1 == wide.rank();
  for (int i = 2; equal && i < x.rank(); ++i) equal = x[i] == wide[i + 1];
  const auto a = product(x, 2), b = product(wide, 3);
  return equal || (a && a == b);
}

// Number of groups of the shuffle whose last reshape is layer `i`, and the layers; 0: there is
// none.
std::int64_t match(const Rewriter& rewriter, int i, std::vector<int>& layers) {
  const Layer& last = rewriter.layer(i);
  if (last.type->name != "reshape" || !last.post_ops.empty()) return 0;
  const int transpose = producer_of_type(rewriter, last.inputs[0], "transpose");
  if (transpose < 0) return 0;
  const TensorId wide_id = rewriter.layer(transpose).inputs[0];
  const int first = producer_of_type(rewriter, wide_id, "reshape");
  if (first < 0) return 0;
  const DynamicShape& x = rewriter.tensor(rewriter.layer(first).inputs[0]).shape;
  const DynamicShape& wide = rewriter.tensor(wide_id).shape;
  const DynamicShape& y = rewriter.tensor(last.outputs[0]).shape;
  if (!x.ranked() || !wide.ranked() || x.rank() < 3 || wide.rank() < 4 || !same_shape(x, y))
    return 0;
  const auto perm = rewriter.layer(transpose).params.integers("perm");
  if (static_cast<int>(perm.size()) != wide.rank()) return 0;
  for (std::size_t d = 0; d < perm.size(); ++d)
    if (perm[d] != (d == 1 ? 2 : d == 2 ? 1 : static_cast<std::int64_t>(d))) return 0;
  if (!wide[1].known() || !wide[2].known() || !(x[1] == Dim(wide[1].value * wide[2].value)))
    return 0;
  // The batch follows from the rest: the elements are as many.
  if (!same_positions(x, wide)) return 0;
  layers = {first, transpose, i};
  return wide[1].value;
}

}  // namespace

Status fuse_channel_shuffle(Rewriter& rewriter, int i) {
  std::vector<int> layers;
  const std::int64_t groups = match(rewriter, i, layers);
  if (groups < 1 || !is_closed(rewriter, layers, rewriter.layer(i).outputs[0])) return {};
  const LayerType* const shuffle = rewriter.context().type("channel_shuffle");
  if (shuffle == nullptr) return {};
  Params params;
  params.set("groups", groups);
  rewriter.replace(layers, i, *shuffle, {rewriter.layer(layers[0]).inputs[0]}, std::move(params));
  return {};
}

}  // namespace softneuro
