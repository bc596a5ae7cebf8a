// The layers that pick elements by their value: nonzero, compress.
#include <limits>

#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status infer_nonzero(InferContext& context) {
  const DynamicShape& x = context.shape(0);
  context.set_output(0, DataType::int64,
                     DynamicShape({x.ranked() ? Dim(std::int64_t{x.rank()}) : Dim(), Dim()}));
  return {};
}

Status infer_compress(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kBoolean));
  SN_RETURN_IF_ERROR(context.expect_rank(1, 1));
  const std::int64_t given = context.params().integer("axis");
  DynamicShape y({Dim()});
  if (given != std::numeric_limits<std::int64_t>::min()) {
    y = context.shape(0);
    if (y.ranked()) {
      SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, y.rank()));
      y[axis] = Dim();
    }
  }
  return context.set_shape(std::move(y));
}

}  // namespace

Status register_layer_nonzero(LayerTypes& types) {
  return types.add_all(
      {{.name = "nonzero",
        .doc = "The indices of all elements that are not 0, in row-major order. Input 0: x, "
               "numbers or booleans. Output 0: int64 [rank, count]: one column per element.",
        .data_dependent_output = true,
        .infer = infer_nonzero},
       {.name = "compress",
        .doc = "The slices of x along one axis for which a condition holds. Input 0: x, any type. "
               "Input 1: condition, boolean, 1-D; where it is shorter than the axis the rest is "
               "left out. Output 0: x's type.",
        .params = {{"axis", std::numeric_limits<std::int64_t>::min(),
                    "axis in [−rank, rank); the smallest int64: x is flattened first"}},
        .inputs = {2, 2},
        .data_dependent_output = true,
        .infer = infer_compress}});
}

}  // namespace softneuro
