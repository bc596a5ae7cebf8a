#include <algorithm>

#include "core/graph/axis_permutation.h"
#include "core/graph/layer_type.h"
#include "core/graph/shape_values.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kBoolean));
  SN_RETURN_IF_ERROR(context.expect_same_type(1, 2));
  SN_ASSIGN_OR_RETURN(const DynamicShape shape, broadcast(context.shape(1), context.shape(2)));
  SN_ASSIGN_OR_RETURN(DynamicShape output, broadcast(context.shape(0), shape));
  context.set_output(0, context.type(1), std::move(output));
  return {};
}

std::optional<ShapeValue> known_values(const KnownInputs& inputs) {
  const ShapeValue* values[3];
  std::size_t count = 1;
  ShapeValue result;
  result.rank = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    values[i] = inputs.value(i);
    if (values[i] == nullptr) return std::nullopt;
    const std::size_t n = values[i]->elements.size();
    if (n != 1 && count != 1 && n != count) return std::nullopt;
    if (n != 1) count = n;
    result.rank = std::max(result.rank, values[i]->rank);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [&](std::size_t k) {
      return values[k]->elements[values[k]->elements.size() == 1 ? 0 : i];
    };
    const KnownInteger condition = at(0);
    result.elements.push_back(!condition.value ? KnownInteger{}
                                               : at(*condition.value != 0 ? 1 : 2));
  }
  return result;
}

}  // namespace

Status register_layer_where(LayerTypes& types) {
  return types.add(
      {.name = "where",
       .doc = "y = condition ? x : y, element by element, with numpy's broadcasting of all three. "
              "Inputs: condition (boolean), x and y of one data type. Output 0: that data type.",
       .inputs = {3, 3},
       .elementwise = true,
       .inputs_share_axes = true,
       .infer = infer,
       .known_values = known_values,
       .permute_axes = permute_no_axes});
}

}  // namespace softneuro
