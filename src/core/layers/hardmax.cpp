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
  context.set_output(0, context.type(0), context.shape(0));
  return {};
}

}  // namespace

Status register_layer_hardmax(LayerTypes& types) {
  LayerType type;
  type.name = "hardmax";
  type.doc =
      "1 at the first largest element along one axis, 0 elsewhere. Input 0: x, real, any shape. "
      "Output 0: same type and shape.";
  type.params = {{"axis", ParamKind::integer, std::int64_t{-1}, "axis, in [−rank, rank)"}};
  type.infer = infer;
  type.permute_axes = permute_axis_parameter;
  return types.add(std::move(type));
}

}  // namespace softneuro
