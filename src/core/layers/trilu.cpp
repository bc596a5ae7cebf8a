#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_min_rank(0, 2));
  if (context.has_input(1)) {
    SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
    SN_RETURN_IF_ERROR(context.expect_one_element(1, "the diagonal"));
  }
  return infer_like_input(context);
}

}  // namespace

Status register_layer_trilu(LayerTypes& types) {
  return types.add(
      {.name = "trilu",
       .doc =
           "The upper or lower triangle of matrices, zeros elsewhere. Input 0: x […, M, N], any "
           "type. Input 1 (optional): k, int64, one element: the diagonal (0 main, > 0 above, < 0 "
           "below) that still belongs to the triangle; left out: 0. Output 0: x's type and shape.",
       .params = {{"upper", 1, "1: upper triangle; 0: lower"}},
       .inputs = {1, 2},
       .value_inputs = {{1, ValueKind::offset}},
       .infer = infer});
}

}  // namespace softneuro
