#include "core/graph/layer_type.h"
#include "core/graph/type_sets.h"

namespace softneuro {
namespace {

Status infer(InferContext& context) {
  static constexpr DataType kAxis[] = {DataType::int64, DataType::int32};
  SN_RETURN_IF_ERROR(context.expect_type(0, kNumericTypes));
  SN_RETURN_IF_ERROR(context.expect_type(1, kAxis));
  if (const auto axis = context.integers(1)) {
    if (axis->size() != 1)
      return invalid_argument("input 1 (axis) must have one element, not {}", axis->size());
    if (context.shape(0).ranked())
      SN_RETURN_IF_ERROR(normalize_axis((*axis)[0], context.shape(0).rank()).status());
  }
  context.set_output(0, context.type(0), context.shape(0));
  return {};
}

}  // namespace

Status register_layer_cumsum(LayerTypes& types) {
  LayerType type;
  type.name = "cumsum";
  type.doc =
      "Running sums along one axis. Inputs: x, axis (one integer, in [−rank, rank)). Output 0: as "
      "x. Integers wrap.";
  type.params = {
      {"exclusive", ParamKind::integer, std::int64_t{0}, "1: each sum leaves its own element out"},
      {"reverse", ParamKind::integer, std::int64_t{0}, "1: from the end to the beginning"},
  };
  type.min_inputs = 2;
  type.max_inputs = 2;
  type.value_inputs = {{1, ValueKind::axes}};
  type.infer = infer;
  return types.add(std::move(type));
}

}  // namespace softneuro
