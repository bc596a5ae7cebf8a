#include "core/graph/axis_permutation.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kNumericTypes));
  for (std::size_t i = 1; i < 3; ++i) {
    if (!context.has_input(i)) continue;
    SN_RETURN_IF_ERROR(context.expect_same_type(0, i));
    const DynamicShape& limit = context.shape(i);
    if (limit.is_static() && limit.to_shape().elements() != 1)
      return invalid_argument("input {} (a limit) must have one element, but its shape is {}", i,
                              limit.str());
  }
  return infer_like_input(context);
}

int equal_input(const InferContext& context) {
  return !context.has_input(1) && !context.has_input(2) ? 0 : -1;
}

}  // namespace

Status register_layer_clip(LayerTypes& types) {
  return types.add(
      {.name = "clip",
       .doc = "y = min(max(x, low), high) with limits that are known only at run time (constant "
              "ones: unary clip). Inputs: x, low and high (optional, one element, x's data type). "
              "Output 0: as x. Where low > high, the upper bound takes precedence.",
       .category = LayerCategory::activation,
       .inputs = {1, 3},
       .elementwise = true,
       .infer = infer,
       .equal_input = equal_input,
       .permute_axes = permute_no_axes});
}

}  // namespace softneuro
