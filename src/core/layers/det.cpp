#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloatTypes));
  SN_RETURN_IF_ERROR(context.expect_min_rank(0, 2));
  DynamicShape y = context.shape(0);
  if (y.ranked()) {
    if (!merge_dims(y[y.rank() - 2], y[y.rank() - 1]))
      return invalid_model("input 0 is {}: its matrices are not square", y.str());
    y.dims().resize(y.dims().size() - 2);
  }
  return context.set_shape(std::move(y));
}

}  // namespace

Status register_layer_det(LayerTypes& types) {
  return types.add({.name = "det",
                    .doc = "The determinant of each square matrix. Input 0: x […, M, M], real. "
                           "Output 0: x's type, […].",
                    .infer = infer});
}

}  // namespace softneuro
