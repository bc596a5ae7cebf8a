#include "core/graph/axis_permutation.h"
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

constexpr DataType kFloats[] = {DataType::float32, DataType::float16, DataType::bfloat16,
                                DataType::float64};

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloats));
  if (context.shape(0).ranked())
    SN_RETURN_IF_ERROR(
        normalize_axis(context.params().integer("axis"), context.shape(0).rank()).status());
  context.set_output(0, context.type(0), context.shape(0));
  return {};
}

}  // namespace

Status register_layer_softmax(LayerTypes& types) {
  LayerType type;
  type.name = "softmax";
  type.doc =
      "y = exp(x − max) / Σ exp(x − max) along one axis, or the logarithm of that. "
      "Input 0: x, real, any shape. Output 0: same type and shape.";
  type.params = {
      {"axis", ParamKind::integer, std::int64_t{-1}, "axis of the sum, in [−rank, rank)"},
      {"log", ParamKind::integer, std::int64_t{0}, "1: log-softmax"},
  };
  type.category = LayerCategory::activation;
  type.infer = infer;
  type.permute_axes = permute_axis_parameter;
  return types.add(std::move(type));
}

}  // namespace softneuro
