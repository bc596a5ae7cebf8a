// The layers that repeat their input: expand, tile and fill.
#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/shape_values.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

// Length of the 1-D value input `i`, if known.
std::optional<std::int64_t> length_of(const InferContext& context, std::size_t i) {
  const DynamicShape& shape = context.shape(i);
  if (!shape.ranked() || shape.rank() != 1 || !shape[0].known()) return std::nullopt;
  return shape[0].value;
}

// The shape that value input `i` holds, as far as it is known.
Result<DynamicShape> target_of(const InferContext& context, std::size_t i) {
  if (const auto shape = context.known_integers(i)) {
    SN_RETURN_IF_ERROR(check_rank(static_cast<std::int64_t>(shape->size())));
    std::vector<Dim> dims;
    for (const KnownInteger& dim : *shape) {
      if (dim.value.value_or(0) < 0)
        return invalid_model("shape holds {}, must not be negative", *dim.value);
      dims.push_back(dim.dim());
    }
    return DynamicShape(std::move(dims));
  }
  const auto rank = length_of(context, i);
  return rank ? unknown_dims(*rank) : DynamicShape();
}

Status infer_expand(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  SN_ASSIGN_OR_RETURN(const DynamicShape target, target_of(context, 1));
  DynamicShape y;
  if (target.ranked() && context.shape(0).ranked()) {
    SN_ASSIGN_OR_RETURN(y, broadcast(context.shape(0), target));
  }
  return context.set_shape(std::move(y));
}

Status infer_tile(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kIndexTypes));
  const DynamicShape& x = context.shape(0);
  const auto repeats = context.known_integers(1);
  const auto rank = repeats ? static_cast<std::int64_t>(repeats->size())
                            : length_of(context, 1).value_or(x.ranked() ? x.rank() : -1);
  if (x.ranked() && rank != x.rank())
    return invalid_model("repeats has {} entries, but input 0 has {} dimensions", rank, x.rank());
  DynamicShape y;
  if (rank >= 0) {
    SN_ASSIGN_OR_RETURN(y, unknown_dims(rank));
  }
  for (int i = 0; repeats && i < y.rank(); ++i) {
    const KnownInteger& times = (*repeats)[static_cast<std::size_t>(i)];
    if (times.value.value_or(0) < 0)
      return invalid_model("repeats[{}] is {}, must not be negative", i, *times.value);
    const Dim factors[] = {x.ranked() ? x[i] : Dim(), times.dim()};
    SN_ASSIGN_OR_RETURN(y[i], product_of(factors));
  }
  return context.set_shape(std::move(y));
}

Status infer_fill(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kIndexTypes));
  if (!context.has_input(1)) return invalid_model("input 1, the value, is missing");
  SN_RETURN_IF_ERROR(context.expect_one_element(1, "the value"));
  SN_ASSIGN_OR_RETURN(DynamicShape y, target_of(context, 0));
  context.set_output(0, context.type(1), std::move(y));
  return {};
}

std::optional<ShapeValue> known_fill(const KnownInputs& inputs) {
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

Status register_layer_expand(LayerTypes& types) {
  return types.add_all(
      {{.name = "expand",
        .doc = "x broadcast to a shape, as two inputs of an element-wise layer would be. Input 0: "
               "x, any type. Input 1: shape, int64, 1-D. Output 0: the broadcast of both shapes.",
        .inputs = {2, 2},
        .value_inputs = {{1, ValueKind::size}},
        .elements = ElementSource::input_0,
        .infer = infer_expand,
        .equal_input = input_of_same_shape},
       {.name = "tile",
        .doc = "x repeated repeats[i] times along axis i. Input 0: x, any type. Input 1: repeats, "
               "int64, one per axis. Output 0: dimension i times repeats[i].",
        .inputs = {2, 2},
        .value_inputs = {{1, ValueKind::size}},
        .elements = ElementSource::input_0,
        .infer = infer_tile,
        .equal_input = input_of_same_shape},
       {.name = "fill",
        .doc = "One value everywhere. Input 0: shape, int64, 1-D. Input 1: value, one element of "
               "any type. Output 0: value's type.",
        .inputs = {2, 2},
        .value_inputs = {{0, ValueKind::size}},
        .infer = infer_fill,
        .known_values = known_fill}});
}

}  // namespace softneuro
