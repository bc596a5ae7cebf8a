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
  LayerType softmax;
  softmax.name = "softmax";
  softmax.doc =
      "y = exp(x − max) / Σ exp(x − max) along one axis, or the logarithm of that. "
      "Input 0: x, real, any shape. Output 0: same type and shape.";
  softmax.params = {
      {"axis", ParamKind::integer, std::int64_t{-1}, "axis of the sum, in [−rank, rank)"},
      {"log", ParamKind::integer, std::int64_t{0}, "1: log-softmax"},
  };
  softmax.category = LayerCategory::activation;
  softmax.infer = infer;
  softmax.permute_axes = permute_axis_parameter;
  SN_RETURN_IF_ERROR(types.add(std::move(softmax)));

  LayerType hardmax;
  hardmax.name = "hardmax";
  hardmax.doc =
      "1 at the first largest element along one axis, 0 elsewhere. Input 0: x, real, any shape. "
      "Output 0: same type and shape.";
  hardmax.params = {{"axis", ParamKind::integer, std::int64_t{-1}, "axis, in [−rank, rank)"}};
  hardmax.infer = infer;
  hardmax.permute_axes = permute_axis_parameter;
  return types.add(std::move(hardmax));
}

}  // namespace softneuro
