// The layers that read nothing but the shape of their input: shape, size, eye_like.
#include "core/layers/shape.h"

#include <algorithm>
#include <limits>

#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"
#include "core/graph/shape_values.h"

namespace softneuro {
namespace {

Status infer_shape(InferContext& context) {
  DynamicShape y({Dim()});
  if (context.shape(0).ranked())
    y[0] = Dim(shape_axes(context.params(), context.shape(0).rank()).count);
  context.set_output(0, DataType::int64, std::move(y));
  return {};
}

Status infer_size(InferContext& context) {
  context.set_output(0, DataType::int64, DynamicShape(Shape()));
  return {};
}

Status infer_eye_like(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_rank(0, 2));
  DataType type = context.type(0);
  if (const std::string_view to = context.params().text("to"); !to.empty()) {
    type = parse_data_type(to);
    if (type == DataType::undefined) return invalid_model("to is '{}', not a data type", to);
  }
  if (!is_float(type) && !is_integer(type) && type != DataType::boolean)
    return invalid_model("the data type {} is not supported: expected a numeric type or boolean",
                         to_string(type));
  DynamicShape y = context.shape(0);
  if (!y.ranked()) y = DynamicShape({Dim(), Dim()});
  context.set_output(0, type, std::move(y));
  return {};
}

std::optional<ShapeValue> known_shape(const KnownInputs& inputs) {
  const DynamicShape& shape = inputs.shape(0);
  if (!shape.ranked()) return std::nullopt;
  const AxisSpan axes = shape_axes(inputs.params(), shape.rank());
  ShapeValue value;
  for (int i = axes.first; i < axes.first + axes.count; ++i)
    value.elements.push_back(shape[i].known() ? KnownInteger{shape[i].value, {}}
                                              : KnownInteger{{}, shape[i].symbol});
  return value;
}

std::optional<ShapeValue> known_size(const KnownInputs& inputs) {
  const DynamicShape& shape = inputs.shape(0);
  if (!shape.is_static() || shape.to_shape().elements() < 0) return std::nullopt;
  return ShapeValue{0, {KnownInteger{shape.to_shape().elements(), {}}}};
}

}  // namespace

AxisSpan shape_axes(const Params& params, int rank) {
  const auto clamped = [rank](std::int64_t axis) {
    const std::int64_t from_front = axis < 0 ? axis + rank : axis;
    return static_cast<int>(std::clamp<std::int64_t>(from_front, 0, rank));
  };
  const int first = clamped(params.integer("start"));
  const int end = clamped(params.integer("end", rank));
  return {first, std::max(end - first, 0)};
}

Status register_layer_shape(LayerTypes& types) {
  return types.add_all(
      {{.name = "shape",
        .doc = "The dimensions of x. Input 0: x, any type. Output 0: int64, 1-D: dimensions start "
               "up to, without, end; negative limits count from the last.",
        .params = {{"start", 0, "first dimension"},
                   {"end", std::numeric_limits<std::int64_t>::max(),
                    "one past the last dimension"}},
        .reads_shape_only = true,
        .infer = infer_shape,
        .known_values = known_shape},
       {.name = "size",
        .doc = "The number of elements of x. Input 0: x, any type. Output 0: int64, a scalar.",
        .reads_shape_only = true,
        .infer = infer_size,
        .known_values = known_size},
       {.name = "eye_like",
        .doc = "Ones on a diagonal, zeros elsewhere, in the shape of x. Input 0: x, 2-D. Output 0: "
               "x's shape.",
        .params = {{"k", 0, "diagonal: 0 main, > 0 above, < 0 below"},
                   {"to", "", "data type of the output; empty: x's"}},
        .reads_shape_only = true,
        .infer = infer_eye_like}});
}

}  // namespace softneuro
