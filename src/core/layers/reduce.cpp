#include <algorithm>

#include "core/graph/axis_permutation.h"
#include "core/graph/enum_param.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"
#include "core/layers/reduction.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  SN_ASSIGN_OR_RETURN(const ReduceOp op, parse_reduce_op(context.params()));
  const bool ordered = op == ReduceOp::max || op == ReduceOp::min;
  if (!(ordered && context.has_input(0) && context.type(0) == DataType::boolean))
    SN_RETURN_IF_ERROR(context.expect_type(0, kNumericTypes));
  const DynamicShape& x = context.shape(0);
  const bool keep = context.params().integer("keepdims") != 0;
  const bool has_axes = context.has_input(1);
  const auto values = context.integers(1);
  if (has_axes) SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  if (!x.ranked()) return context.set_shape(DynamicShape());
  if (has_axes && !values)  // the axes are not known yet, at most their number
    return context.set_shape(
        keep ? DynamicShape(std::vector<Dim>(static_cast<std::size_t>(x.rank()))) : DynamicShape());
  SN_ASSIGN_OR_RETURN(
      const std::uint32_t axes,
      reduced_axes(context.params(), values.value_or(std::vector<std::int64_t>{}), x.rank()));
  std::vector<Dim> dims;
  for (int d = 0; d < x.rank(); ++d) {
    if ((axes >> d & 1u) == 0)
      dims.push_back(x[d]);
    else if (keep)
      dims.push_back(Dim(1));
  }
  return context.set_shape(DynamicShape(std::move(dims)));
}

bool permute_axes(AxisPermutation& permutation) {
  const InferContext& layer = permutation.layer;
  if (!layer.has_input(1) && layer.params().integer("noop_with_empty_axes") != 0) return false;
  const auto given = layer.integers(1);
  if ((given && given->empty()) || !permute_axes_input(permutation, 1, permutation.perm.size()))
    return false;
  if (layer.params().integer("keepdims", 1) != 0) return true;
  // The axes that stay, in the order of the output, counted among those that stay.
  const auto stays = [&](int axis) {
    return std::find(permutation.axes.begin(), permutation.axes.end(), axis) ==
           permutation.axes.end();
  };
  permutation.result_perm.clear();
  for (const int axis : permutation.perm) {
    if (!stays(axis)) continue;
    int place = 0;
    for (int a = 0; a < axis; ++a) place += stays(a) ? 1 : 0;
    permutation.result_perm.push_back(place);
  }
  return true;
}

}  // namespace

Status register_layer_reduce(LayerTypes& types) {
  return types.add(
      {.name = "reduce",
       .doc = "Reduces x along some axes with `op`. Inputs: x, axes (optional, int64, each in "
              "[−rank, rank); left out or empty: all axes). Output 0: x's data type; reduced "
              "dimensions are 1, or gone without keepdims. Integers wrap, their means truncate.",
       .category = LayerCategory::reduction,
       .params = {{"op", "",
                   "sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp or sum_square", true},
                  {"keepdims", 1, "0: reduced dimensions are left out"},
                  {"noop_with_empty_axes", 0, "1: no axes mean that nothing is reduced"}},
       .inputs = {1, 2},
       .value_inputs = {{1, ValueKind::axes}},
       .infer = infer,
       .permute_axes = permute_axes});
}

}  // namespace softneuro
