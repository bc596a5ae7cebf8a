#include "core/graph/axis_permutation.h"
#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/shape_values.h"

namespace softneuro {
namespace {

// All dimensions but `axis` must agree; y takes what any input knows of them.
Status merge_into(DynamicShape& y, const InferContext& context, std::size_t input, int axis) {
  const DynamicShape& x = context.shape(input);
  if (x.rank() != y.rank())
    return invalid_model("input {} has {} dimensions, input 0 has {}", input, x.rank(), y.rank());
  for (int i = 0; i < y.rank(); ++i) {
    if (i == axis) continue;
    const std::optional<Dim> dim = merge_dims(y[i], x[i]);
    if (!dim)
      return invalid_model("input {} is {}, which differs from the inputs before it on axis {}",
                           input, x.str(), i);
    y[i] = *dim;
  }
  return {};
}

Status infer(InferContext& context) {
  int rank = -1;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) return invalid_model("input {} is left out", i);
    SN_RETURN_IF_ERROR(context.expect_same_type(i, 0));
    if (context.shape(i).ranked() && rank < 0) rank = context.shape(i).rank();
  }
  if (rank < 0) return context.set_shape(DynamicShape());
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(context.params().integer("axis"), rank));
  SN_ASSIGN_OR_RETURN(DynamicShape y, unknown_dims(rank));
  std::vector<Dim> along;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const bool ranked = context.shape(i).ranked();
    if (ranked) SN_RETURN_IF_ERROR(merge_into(y, context, i, axis));
    along.push_back(ranked ? context.shape(i)[axis] : Dim());
  }
  SN_ASSIGN_OR_RETURN(y[axis], sum_of(along));
  return context.set_shape(std::move(y));
}

std::optional<ShapeValue> known_values(const KnownInputs& inputs) {
  ShapeValue value;
  for (std::size_t i = 0; i < inputs.count(); ++i) {
    if (const ShapeValue* x = inputs.value(i); x != nullptr) {
      if (x->rank != 1) return std::nullopt;
      value.elements.insert(value.elements.end(), x->elements.begin(), x->elements.end());
      continue;
    }
    // Nothing is known of this piece but its length: the others keep their places.
    if (!inputs.has(i)) return std::nullopt;
    const DynamicShape& shape = inputs.shape(i);
    if (!shape.is_static() || shape.rank() != 1 || shape[0].value > ShapeValue::kMaxElements)
      return std::nullopt;
    value.elements.resize(value.elements.size() + static_cast<std::size_t>(shape[0].value));
    if (static_cast<std::int64_t>(value.elements.size()) > ShapeValue::kMaxElements)
      return std::nullopt;
  }
  return value;
}

int equal_input(const InferContext& context) {
  return context.input_count() == 1 ? 0 : -1;
}

}  // namespace

Status register_layer_concat(LayerTypes& types) {
  return types.add(
      {.name = "concat",
       .doc = "Concatenates the inputs along one axis. Inputs: any number, of one type, equal in "
              "all other dimensions. Output 0: the sum of the sizes on `axis`.",
       .params = {{"axis", 0, "axis in [−rank, rank)", true}},
       .inputs = {1, -1},
       .elements = ElementSource::all_inputs,
       .inputs_share_axes = true,
       .infer = infer,
       .known_values = known_values,
       .equal_input = equal_input,
       .permute_axes = permute_axis_parameter});
}

}  // namespace softneuro
