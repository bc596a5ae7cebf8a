// The layers that keep a running result along one axis: cumsum, cum_prod.
#include "core/graph/axis_permutation.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

template <StatusCode wrong_count>
Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kNumericTypes));
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  if (const auto axis = context.integers(1)) {
    if (axis->size() != 1)
      return make_error(wrong_count, "input 1 (axis) must have one element, not {}", axis->size());
    if (context.shape(0).ranked())
      SN_RETURN_IF_ERROR(normalize_axis((*axis)[0], context.shape(0).rank()).status());
  }
  return infer_like_input(context);
}

bool permute_axes(AxisPermutation& permutation) {
  return permute_axes_input(permutation, 1, 0);
}

LayerType running_type(std::string name, std::string doc, std::string exclusive) {
  LayerType type;
  type.name = std::move(name);
  type.doc = std::move(doc);
  type.params = {
      {"exclusive", ParamKind::integer, std::int64_t{0}, std::move(exclusive)},
      {"reverse", ParamKind::integer, std::int64_t{0}, "1: from the end to the beginning"},
  };
  type.min_inputs = type.max_inputs = 2;
  type.value_inputs = {{1, ValueKind::axes}};
  return type;
}

}  // namespace

Status register_layer_cumsum(LayerTypes& types) {
  LayerType sum = running_type(
      "cumsum",
      "Running sums along one axis. Inputs: x, axis (one integer, in [−rank, rank)). Output 0: as "
      "x. Integers wrap.",
      "1: each sum leaves its own element out");
  sum.infer = infer<StatusCode::invalid_argument>;
  SN_RETURN_IF_ERROR(types.add(std::move(sum)));

  LayerType product = running_type(
      "cum_prod",
      "Running products along one axis. Inputs: x, axis (one integer, in [−rank, rank)). Output 0: "
      "as x. Integers wrap.",
      "1: each product leaves its own element out");
  product.infer = infer<StatusCode::invalid_model>;
  product.permute_axes = permute_axes;
  return types.add(std::move(product));
}

}  // namespace softneuro
