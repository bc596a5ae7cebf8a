#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

constexpr DataType kQuantizable[] = {DataType::float32, DataType::float16, DataType::bfloat16,
                                     DataType::int32};
constexpr DataType kScales[] = {DataType::float32, DataType::float16, DataType::bfloat16};
constexpr DataType kQuantized[] = {DataType::int8, DataType::uint8, DataType::int16,
                                   DataType::uint16};
constexpr DataType kDequantizable[] = {DataType::int8, DataType::uint8, DataType::int16,
                                       DataType::uint16, DataType::int32};

// One dimension of a blocked scale: ⌈dim / block⌉ on the axis, dim elsewhere.
Status check_blocked(const InferContext& context, std::size_t i, int axis, std::int64_t block) {
  const DynamicShape& x = context.shape(0);
  const DynamicShape& scale = context.shape(i);
  if (scale.rank() != x.rank())
    return invalid_argument("input {} must have x's rank {} (block_size is {}), its shape is {}", i,
                            x.rank(), block, scale.str());
  for (int d = 0; d < x.rank(); ++d) {
    if (!x[d].known() || !scale[d].known()) continue;
    const std::int64_t dim = x[d].value;
    const std::int64_t wanted = d == axis ? dim / block + (dim % block != 0) : dim;
    if (scale[d].value != wanted)
      return invalid_argument(
          "input {}: dimension {} is {}, but x of shape {} in blocks of {} needs {}", i, d,
          scale[d].value, x.str(), block, wanted);
  }
  return {};
}

// Scales and zero points: one, one per index of the axis, or one per block.
Status check_granularity(const InferContext& context, std::size_t i) {
  const DynamicShape& x = context.shape(0);
  const DynamicShape& scale = context.shape(i);
  const std::int64_t block = context.params().integer("block_size");
  if (block < 0) return invalid_argument("block_size is {}, must not be negative", block);
  if (!x.ranked() || !scale.ranked()) return {};
  if (block > 0) {
    SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(context.params().integer("axis"), x.rank()));
    return check_blocked(context, i, axis, block);
  }
  if (scale.rank() == 0 || (scale.is_static() && scale.to_shape().elements() == 1)) return {};
  if (scale.rank() != 1)
    return invalid_argument(
        "input {} must have one element or one per index of the axis, but its shape is {}", i,
        scale.str());
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(context.params().integer("axis"), x.rank()));
  if (x[axis].known() && scale[0].known() && x[axis].value != scale[0].value)
    return invalid_argument("input {} has {} elements, but axis {} of x has {}", i, scale[0].value,
                            axis, x[axis].value);
  return {};
}

Status check_scale_and_zero_point(const InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(1, kScales));
  SN_RETURN_IF_ERROR(check_granularity(context, 1));
  if (!context.has_input(2)) return {};
  SN_RETURN_IF_ERROR(check_granularity(context, 2));
  if (context.shape(1).is_static() && context.shape(2).is_static() &&
      context.shape(1).to_shape().elements() != context.shape(2).to_shape().elements())
    return invalid_argument("input 1 (scale) has shape {}, input 2 (zero point) {}",
                            context.shape(1).str(), context.shape(2).str());
  return {};
}

Status infer_quantize(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kQuantizable));
  SN_RETURN_IF_ERROR(check_scale_and_zero_point(context));
  DataType to = parse_data_type(context.params().text("to"));
  if (context.has_input(2)) {
    SN_RETURN_IF_ERROR(context.expect_type(2, kQuantized));
    to = context.type(2);
  }
  for (const DataType type : kQuantized) {
    if (type != to) continue;
    context.set_output(0, to, context.shape(0));
    return {};
  }
  return invalid_model("quantize: 'to' is '{}', must be int8, uint8, int16 or uint16",
                       context.params().text("to"));
}

Status infer_dequantize(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kDequantizable));
  SN_RETURN_IF_ERROR(check_scale_and_zero_point(context));
  if (context.has_input(2)) SN_RETURN_IF_ERROR(context.expect_same_type(0, 2));
  context.set_output(0, context.type(1), context.shape(0));
  return {};
}

Status infer_dynamic(InferContext& context) {
  static constexpr DataType kFloat32[] = {DataType::float32};
  SN_RETURN_IF_ERROR(context.expect_type(0, kFloat32));
  context.set_output(0, DataType::uint8, context.shape(0));
  context.set_output(1, DataType::float32, Shape{});
  context.set_output(2, DataType::uint8, Shape{});
  return {};
}

}  // namespace

Status register_layer_quantize(LayerTypes& types) {
  const ParamSpec axis = {"axis", 1, "axis of the scales where there are several"};
  const ParamSpec block_size = {
      "block_size", 0,
      "0: one scale per index of the axis; else so many indices share one, and scale has x's rank"};
  return types.add_all(
      {{.name = "quantize",
        .doc = "y = saturate(round(x / scale) + zero_point), round half to even, x / scale in "
               "float32. Inputs: x (real or int32), scale (one element, one per index of the axis, "
               "or blocked), zero_point (optional, as many as scales; its data type is y's). "
               "Output 0: x's shape.",
        .category = LayerCategory::quantization,
        .params = {axis,
                   block_size,
                   {"to", "uint8",
                    "y's data type where there is no zero_point: int8, uint8, int16 or uint16"}},
        .inputs = {2, 3},
        .elementwise = true,
        .infer = infer_quantize},
       {.name = "dequantize",
        .doc = "y = (x − zero_point) · scale. Inputs: x (8, 16 or 32 bit integers), scale (one "
               "element, one per index of the axis, or blocked), zero_point (optional, x's data "
               "type). Output 0: x's shape, scale's data type.",
        .category = LayerCategory::quantization,
        .params = {axis, block_size},
        .inputs = {2, 3},
        .elementwise = true,
        .infer = infer_dequantize},
       {.name = "dynamic_quantize",
        .doc = "Quantises to uint8 with the range of the data, zero included: scale = (max − min) "
               "/ 255 (1 where all is zero), zero point = saturate(round(−min / scale)). Input 0: "
               "x, float32. Outputs: y (uint8, x's shape), scale (float32 scalar), zero point "
               "(uint8 scalar).",
        .outputs = {1, 3},
        .infer = infer_dynamic}});
}

}  // namespace softneuro
