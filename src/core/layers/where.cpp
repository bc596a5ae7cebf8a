#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  static constexpr DataType kBoolean[] = {DataType::boolean};
  SN_RETURN_IF_ERROR(context.expect_type(0, kBoolean));
  SN_RETURN_IF_ERROR(context.expect_same_type(1, 2));
  SN_ASSIGN_OR_RETURN(const DynamicShape shape, broadcast(context.shape(1), context.shape(2)));
  SN_ASSIGN_OR_RETURN(DynamicShape output, broadcast(context.shape(0), shape));
  context.set_output(0, context.type(1), std::move(output));
  return {};
}

}  // namespace

Status register_layer_where(LayerTypes& types) {
  LayerType type;
  type.name = "where";
  type.doc =
      "y = condition ? x : y, element by element, with numpy's broadcasting of all three. Inputs: "
      "condition (boolean), x and y of one data type. Output 0: that data type.";
  type.min_inputs = 3;
  type.max_inputs = 3;
  type.elementwise = true;
  type.infer = infer;
  return types.add(std::move(type));
}

}  // namespace softneuro
