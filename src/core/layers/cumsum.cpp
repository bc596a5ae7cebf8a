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

std::vector<ParamSpec> running_params(std::string exclusive) {
  return {{"exclusive", 0, std::move(exclusive)},
          {"reverse", 0, "1: from the end to the beginning"}};
}

}  // namespace

Status register_layer_cumsum(LayerTypes& types) {
  return types.add_all({{.name = "cumsum",
                         .doc = "Running sums along one axis. Inputs: x, axis (one integer, in "
                                "[−rank, rank)). Output 0: as x. Integers wrap.",
                         .params = running_params("1: each sum leaves its own element out"),
                         .inputs = {2, 2},
                         .value_inputs = {{1, ValueKind::axes}},
                         .infer = infer<StatusCode::invalid_argument>},
                        {.name = "cum_prod",
                         .doc = "Running products along one axis. Inputs: x, axis (one integer, in "
                                "[−rank, rank)). Output 0: as x. Integers wrap.",
                         .params = running_params("1: each product leaves its own element out"),
                         .inputs = {2, 2},
                         .value_inputs = {{1, ValueKind::axes}},
                         .infer = infer<StatusCode::invalid_model>,
                         .permute_axes = permute_axes}});
}

}  // namespace softneuro
