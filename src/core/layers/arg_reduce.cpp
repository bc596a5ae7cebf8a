#include "core/graph/enum_param.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  static constexpr std::string_view kOps[] = {"max", "min"};
  SN_RETURN_IF_ERROR(choice_of(context.params(), "op", kOps).status());
  SN_RETURN_IF_ERROR(context.expect_type(0, kNumericTypes));
  const DynamicShape& x = context.shape(0);
  if (!x.ranked()) {
    context.set_output(0, DataType::int64, DynamicShape());
    return {};
  }
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(context.params().integer("axis"), x.rank()));
  if (x[axis].known() && x[axis].value == 0)
    return invalid_argument("axis {} of input 0 ({}) has no elements to choose from", axis,
                            x.str());
  std::vector<Dim> dims;
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis)
      dims.push_back(x[d]);
    else if (context.params().integer("keepdims") != 0)
      dims.push_back(Dim(1));
  }
  context.set_output(0, DataType::int64, DynamicShape(std::move(dims)));
  return {};
}

}  // namespace

Status register_layer_arg_reduce(LayerTypes& types) {
  return types.add(
      {.name = "arg_reduce",
       .doc = "The index of the largest or smallest element along one axis; the first of equals, "
              "or the last. NaN wins for the largest and for the smallest. Input 0: x. Output 0: "
              "int64; the axis has one element, or is gone without keepdims.",
       .params = {{"op", "", "max or min", true},
                  {"axis", 0, "axis, in [−rank, rank)"},
                  {"keepdims", 1, "0: the axis is left out"},
                  {"select_last_index", 0, "1: the last of equals"}},
       .infer = infer});
}

}  // namespace softneuro
