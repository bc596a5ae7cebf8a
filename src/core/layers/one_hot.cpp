#include "core/base/element.h"
#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

// depth, of any numeric type.
Result<Dim> depth_of(const InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_one_element(1, "the depth"));
  const Tensor* value = context.input(1).value;
  if (!value || value->elements() != 1) return Dim();
  const TensorView view = view_of(*value);
  const double rough = load(view, 0);
  if (!(rough >= 0 && rough < 0x1p62))
    return invalid_model("depth is {}: must not be negative, and below 2^62", rough);
  return Dim(load_integer(view, 0));
}

Status infer(InferContext& context) {
  for (const std::size_t i : {0, 1, 2})
    if (!context.has_input(i)) return invalid_model("input {} is missing", i);
  if (!is_integer(context.type(0)) && !is_float(context.type(0)))
    return invalid_model("indices are {}, must be numbers", to_string(context.type(0)));
  if (!is_integer(context.type(1)) && !is_float(context.type(1)))
    return invalid_model("depth is {}, must be a number", to_string(context.type(1)));
  SN_RETURN_IF_ERROR(context.expect_rank(2, 1));
  const DynamicShape& values = context.shape(2);
  if (values.ranked() && values[0].known() && values[0].value != 2)
    return invalid_model("input 2 ({}) must hold two values, off and on", values.str());
  SN_ASSIGN_OR_RETURN(const Dim depth, depth_of(context));
  DynamicShape y;
  if (const DynamicShape& indices = context.shape(0); indices.ranked()) {
    SN_RETURN_IF_ERROR(check_rank(indices.rank() + 1));
    SN_ASSIGN_OR_RETURN(const int axis,
                        normalize_axis(context.params().integer("axis"), indices.rank() + 1));
    y = indices;
    y.dims().insert(y.dims().begin() + axis, depth);
  }
  context.set_output(0, context.type(2), std::move(y));
  return {};
}

}  // namespace

Status register_layer_one_hot(LayerTypes& types) {
  return types.add(
      {.name = "one_hot",
       .doc = "A new axis of `depth` elements that holds `on` at each index and `off` elsewhere; "
              "indices outside [−depth, depth) give `off` alone. Input 0: indices, numbers. Input "
              "1: depth, one number. Input 2: values [off, on], any type. Output 0: values' type.",
       .params = {{"axis", -1, "axis of the output that is new, in [−rank − 1, rank]"}},
       .inputs = {3, 3},
       .value_inputs = {{1, ValueKind::limit}},
       .infer = infer});
}

}  // namespace softneuro
