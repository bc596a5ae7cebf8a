#include <limits>

#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  const DynamicShape& x = context.shape(0);
  const std::int64_t given = context.params().integer("axis");
  DynamicShape y({Dim()});
  Dim slices;
  if (given != std::numeric_limits<std::int64_t>::min()) {
    y = x;
    if (x.ranked()) {
      SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, x.rank()));
      slices = x[axis];
      y[axis] = Dim();
    }
  } else if (x.ranked()) {
    SN_ASSIGN_OR_RETURN(slices, product_of(x.dims()));
  }
  context.set_output(0, context.type(0), std::move(y));
  context.set_output(1, DataType::int64, DynamicShape({Dim()}));
  context.set_output(2, DataType::int64, DynamicShape({slices}));
  context.set_output(3, DataType::int64, DynamicShape({Dim()}));
  return {};
}

}  // namespace

Status register_layer_unique(LayerTypes& types) {
  return types.add(
      {.name = "unique",
       .doc = "The different elements of x, or its different slices along one axis. Input 0: x, "
              "any type. Output 0: one of each. Output 1: int64, where each first stands in x. "
              "Output 2: int64, for each slice of x its place in output 0. Output 3: int64, how "
              "often each occurs.",
       .params = {{"axis", std::numeric_limits<std::int64_t>::min(),
                   "axis in [−rank, rank); the smallest int64: x is flattened first"},
                  {"sorted", 1,
                   "1: ascending (slices lexicographically); 0: in order of first occurrence"}},
       .outputs = {1, 4},
       .data_dependent_output = true,
       .infer = infer});
}

}  // namespace softneuro
