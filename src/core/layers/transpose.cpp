#include "core/layers/transpose.h"

#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  const DynamicShape& x = context.shape(0);
  const auto perm = context.params().integers("perm");
  DynamicShape y;
  if (x.ranked() || !perm.empty()) {
    const int rank = x.ranked() ? x.rank() : static_cast<int>(perm.size());
    SN_ASSIGN_OR_RETURN(const std::vector<int> order, transpose_order(context.params(), rank));
    SN_ASSIGN_OR_RETURN(y, unknown_dims(rank));
    for (int i = 0; i < rank && x.ranked(); ++i) y[i] = x[order[static_cast<std::size_t>(i)]];
  }
  return context.set_shape(std::move(y));
}

}  // namespace

Result<std::vector<int>> transpose_order(const Params& params, int rank) {
  const auto perm = params.integers("perm");
  if (perm.empty()) {
    std::vector<int> order;
    for (int i = rank - 1; i >= 0; --i) order.push_back(i);
    return order;
  }
  if (static_cast<int>(perm.size()) != rank)
    return invalid_model("perm has {} entries, but input 0 has {} dimensions", perm.size(), rank);
  return distinct_axes(perm, rank, 0, "perm names");
}

namespace {

int equal_input(const InferContext& context) {
  const auto perm = context.params().integers("perm");
  if (perm.empty()) return context.shape(0).ranked() && context.shape(0).rank() <= 1 ? 0 : -1;
  for (std::size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<std::int64_t>(i)) return -1;
  return 0;
}

}  // namespace

Status register_layer_transpose(LayerTypes& types) {
  return types.add(
      {.name = "transpose",
       .doc = "x with its axes in another order. Input 0: x, any type. Output 0: axis i is axis "
              "perm[i] of x.",
       .params = {{"perm", std::vector<std::int64_t>{},
                   "axis of x for each axis of the output; empty: reversed"}},
       .elements = ElementSource::input_0,
       // What it does to the order of memory is often nothing where the layout changes along.
       .formats = FormatRule::mixed_layout,
       .infer = infer,
       .equal_input = equal_input});
}

}  // namespace softneuro
