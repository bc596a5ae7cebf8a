#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/shape_values.h"

namespace softneuro {
namespace {

constexpr DataType kIndexTypes[] = {DataType::int64, DataType::int32};

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kIndexTypes));
  if (!context.has_input(1)) return invalid_model("input 1, the value, is missing");
  const DynamicShape& value = context.shape(1);
  if (value.is_static() && value.to_shape().elements() != 1)
    return invalid_model("input 1 ({}) must hold one element", value.str());
  DynamicShape y;
  if (const auto shape = context.known_integers(0)) {
    SN_RETURN_IF_ERROR(check_rank(static_cast<std::int64_t>(shape->size())));
    std::vector<Dim> dims;
    for (const KnownInteger& dim : *shape) {
      if (dim.value.value_or(0) < 0)
        return invalid_model("shape holds {}, must not be negative", *dim.value);
      dims.push_back(dim.dim());
    }
    y = DynamicShape(std::move(dims));
  } else if (const DynamicShape& length = context.shape(0);
             length.ranked() && length.rank() == 1 && length[0].known()) {
    SN_ASSIGN_OR_RETURN(y, unknown_dims(length[0].value));
  }
  context.set_output(0, context.type(1), std::move(y));
  return {};
}

std::optional<ShapeValue> known_values(const KnownInputs& inputs) {
  const auto shape = inputs.integers(0);
  const ShapeValue* one = inputs.value(1);
  if (!shape || shape->size() > 1 || one == nullptr || one->elements.size() != 1)
    return std::nullopt;
  const std::int64_t count = shape->empty() ? 1 : (*shape)[0];
  if (count < 0 || count > ShapeValue::kMaxElements) return std::nullopt;
  return ShapeValue{static_cast<int>(shape->size()),
                    std::vector<KnownInteger>(static_cast<std::size_t>(count), one->elements[0])};
}

}  // namespace

Status register_layer_fill(LayerTypes& types) {
  LayerType type;
  type.name = "fill";
  type.doc =
      "One value everywhere. Input 0: shape, int64, 1-D. Input 1: value, one element of any type. "
      "Output 0: value's type.";
  type.min_inputs = type.max_inputs = 2;
  type.value_inputs = {{0, ValueKind::size}};
  type.infer = infer;
  type.known_values = known_values;
  return types.add(std::move(type));
}

}  // namespace softneuro
