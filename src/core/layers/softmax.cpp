// The layers that look for the largest element along one axis: softmax, hardmax.
#include "core/graph/axis_permutation.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloatTypes));
  if (context.shape(0).ranked())
    SN_RETURN_IF_ERROR(
        normalize_axis(context.params().integer("axis"), context.shape(0).rank()).status());
  return infer_like_input(context);
}

}  // namespace

Status register_layer_softmax(LayerTypes& types) {
  return types.add_all(
      {{.name = "softmax",
        .doc = "y = exp(x − max) / Σ exp(x − max) along one axis, or the logarithm of that. Input "
               "0: x, real, any shape. Output 0: same type and shape.",
        .category = LayerCategory::activation,
        .params = {{"axis", -1, "axis of the sum, in [−rank, rank)"}, {"log", 0, "1: log-softmax"}},
        .infer = infer,
        .permute_axes = permute_axis_parameter},
       {.name = "hardmax",
        .doc = "1 at the first largest element along one axis, 0 elsewhere. Input 0: x, real, any "
               "shape. Output 0: same type and shape.",
        .params = {{"axis", -1, "axis, in [−rank, rank)"}},
        .infer = infer,
        .permute_axes = permute_axis_parameter}});
}

}  // namespace softneuro
