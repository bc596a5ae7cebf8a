// The layers that write at computed places: scatter_elements, scatter_nd.
#include "core/layers/scatter.h"

#include "core/graph/dim_arithmetic.h"
#include "core/graph/enum_param.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status check_inputs(const InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  SN_RETURN_IF_ERROR(context.expect_same_type(2, 0));
  return choice_of(context.params(), "reduction", kScatterReductions).status();
}

Status infer_scatter_elements(InferContext& context) {
  SN_RETURN_IF_ERROR(check_inputs(context));
  const DynamicShape& indices = context.shape(1);
  const DynamicShape& updates = context.shape(2);
  if (indices.ranked() && updates.ranked()) {
    if (indices.rank() != updates.rank())
      return invalid_model("indices ({}) and updates ({}) differ in shape", indices.str(),
                           updates.str());
    for (int i = 0; i < indices.rank(); ++i)
      if (!merge_dims(indices[i], updates[i]))
        return invalid_model("indices ({}) and updates ({}) differ in shape", indices.str(),
                             updates.str());
  }
  SN_RETURN_IF_ERROR(check_element_indices(context));
  return infer_like_input(context);
}

// updates must be of shape indices.shape[:-1] + x.shape[tuple length:].
Status check_updates_nd(const DynamicShape& x, const DynamicShape& indices,
                        const DynamicShape& updates) {
  const int last = indices.rank() - 1;
  const Dim& tuple = indices[last];
  if (!tuple.known()) return {};
  if (tuple.value < 1 || tuple.value > x.rank())
    return invalid_model("indices are {}-tuples, but input 0 is {}", tuple.value, x.str());
  std::vector<Dim> expected(indices.dims().begin(), indices.dims().end() - 1);
  expected.insert(expected.end(), x.dims().begin() + tuple.value, x.dims().end());
  bool fits = !updates.ranked() || updates.dims().size() == expected.size();
  for (int i = 0; fits && i < updates.rank(); ++i)
    fits = merge_dims(updates[i], expected[static_cast<std::size_t>(i)]).has_value();
  if (fits) return {};
  return invalid_model("updates are {}, must be {}", updates.str(),
                       DynamicShape(std::move(expected)).str());
}

Status infer_scatter_nd(InferContext& context) {
  SN_RETURN_IF_ERROR(check_inputs(context));
  SN_RETURN_IF_ERROR(context.expect_min_rank(0, 1));
  SN_RETURN_IF_ERROR(context.expect_min_rank(1, 1));
  if (context.shape(0).ranked() && context.shape(1).ranked())
    SN_RETURN_IF_ERROR(check_updates_nd(context.shape(0), context.shape(1), context.shape(2)));
  return infer_like_input(context);
}

}  // namespace

Status register_layer_scatter(LayerTypes& types) {
  const ParamSpec reduction = {
      "reduction", "none",
      "how an update is combined with the element: none (replaces it), add, mul, max, min"};
  return types.add_all(
      {{.name = "scatter_elements",
        .doc = "x, with y[indices[i, j, k], j, k] = updates[i, j, k] for axis 0, and alike for "
               "others, in order; negative indices count from the end. Input 0: x, any type. Input "
               "1: indices, int32 or int64. Input 2: updates, x's type, indices' shape. Output 0: "
               "x's type and shape.",
        .params = {reduction, {"axis", 0, "axis of x that is indexed, in [−rank, rank)"}},
        .inputs = {3, 3},
        .infer = infer_scatter_elements},
       {.name = "scatter_nd",
        .doc = "x, with slices replaced: the last axis of indices holds tuples of indices that "
               "name a slice each, updates the slices, in order. Input 0: x, any type. Input 1: "
               "indices, int32 or int64. Input 2: updates, x's type, shape indices.shape[:-1] + "
               "x.shape[tuple length:]. Output 0: x's type and shape.",
        .params = {reduction},
        .inputs = {3, 3},
        .infer = infer_scatter_nd}});
}

}  // namespace softneuro
