#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kNumericTypes));
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  DynamicShape shape = context.shape(0);
  const auto k = context.integers(1);
  if (k && (k->size() != 1 || (*k)[0] < 0))
    return invalid_argument("input 1 (k) must be one number that is not negative");
  if (shape.ranked()) {
    SN_ASSIGN_OR_RETURN(const int axis,
                        normalize_axis(context.params().integer("axis"), shape.rank()));
    if (k && shape[axis].known() && (*k)[0] > shape[axis].value)
      return invalid_argument("input 1: k is {}, but axis {} of input 0 ({}) has {} elements",
                              (*k)[0], axis, shape.str(), shape[axis].value);
    shape[axis] = k ? Dim((*k)[0]) : Dim();
  }
  context.set_output(0, context.type(0), shape);
  context.set_output(1, DataType::int64, std::move(shape));
  return {};
}

}  // namespace

Status register_layer_topk(LayerTypes& types) {
  return types.add(
      {.name = "topk",
       .doc = "The k largest or smallest elements along one axis, the best first; of equals, the "
              "one with the lower index first; NaN is larger than all numbers. Inputs: x, k (one "
              "integer). Outputs: values (x's data type) and indices (int64), k on the axis.",
       .params = {{"axis", -1, "axis, in [−rank, rank)"},
                  {"largest", 1, "0: the smallest"},
                  {"sorted", 1, "ignored: results are always sorted"}},
       .inputs = {2, 2},
       .outputs = {1, 2},
       .value_inputs = {{1, ValueKind::size}},
       .infer = infer});
}

}  // namespace softneuro
