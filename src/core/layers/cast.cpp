#include "core/graph/axis_permutation.h"
#include "core/graph/layer_type.h"
#include "core/graph/shape_values.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  const std::string_view name = context.params().text("to");
  const DataType to = parse_data_type(name);
  if (to == DataType::undefined || to == DataType::qint8)
    return invalid_model("cast: '{}' is not a data type that a tensor can be cast to", name);
  if (!context.has_input(0)) return invalid_argument("input 0 is missing");
  if (context.type(0) == DataType::qint8)
    return invalid_argument("input 0 is qint8; dequantise it instead");
  context.set_output(0, to, context.shape(0));
  return {};
}

int equal_input(const InferContext& context) {
  return context.type(0) == context.output(0).type ? 0 : -1;
}

}  // namespace

Status register_layer_cast(LayerTypes& types) {
  return types.add(
      {.name = "cast",
       .doc = "The same numbers in another data type. Input 0: x, any. Output 0: x's shape. To "
              "real types: rounded to nearest even. Real to integer: truncated, then saturated; "
              "NaN gives 0. Integer to integer: wraps. To boolean: not zero.",
       .params = {{"to", "", "name of the data type", true}},
       .elementwise = true,
       .rounds_to_type = true,
       .infer = infer,
       .known_values = same_values,
       .equal_input = equal_input,
       .permute_axes = permute_no_axes});
}

}  // namespace softneuro
