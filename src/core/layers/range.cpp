#include <cmath>

#include "core/base/element.h"
#include "core/graph/dim_arithmetic.h"
#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

constexpr DataType kNumbers[] = {DataType::int64,   DataType::int32,   DataType::int16,
                                 DataType::float32, DataType::float64, DataType::float16,
                                 DataType::bfloat16};

// ⌈(limit − start) / delta⌉, at least 0.
Result<std::int64_t> count_of_reals(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  if (!(std::fabs(count) < 0x1p62))
    return invalid_model("from {} up to {} by {}: the number of elements is not finite", start,
                         limit, delta);
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

Result<std::int64_t> count_of_integers(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta == 0) return invalid_model("delta is 0");
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  // Unsigned: the distance between two int64 may have 64 bits.
  const std::uint64_t from = static_cast<std::uint64_t>(start);
  const std::uint64_t to = static_cast<std::uint64_t>(limit);
  const std::uint64_t step = static_cast<std::uint64_t>(delta);
  const std::uint64_t distance = delta > 0 ? to - from : from - to;
  const std::uint64_t count = (distance - 1) / (delta > 0 ? step : 0 - step) + 1;
  if (count > static_cast<std::uint64_t>(INT64_MAX))
    return invalid_model("from {} up to {} by {}: too many elements", start, limit, delta);
  return static_cast<std::int64_t>(count);
}

// 0, 1, 2… up to a dimension that is known by name: as many elements as that.
Dim named_count(const InferContext& context) {
  const auto start = context.known_integers(0), limit = context.known_integers(1),
             delta = context.known_integers(2);
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 || delta->size() != 1)
    return Dim();
  return (*start)[0].value == 0 && (*delta)[0].value == 1 ? Dim((*limit)[0].symbol) : Dim();
}

Status infer(InferContext& context) {
  SN_RETURN_IF_ERROR(context.expect_type(0, kNumbers));
  DynamicShape y({Dim()});
  bool known = true;
  for (std::size_t i = 0; i < 3; ++i) {
    SN_RETURN_IF_ERROR(context.expect_same_type(i, 0));
    const DynamicShape& shape = context.shape(i);
    if (shape.is_static() && shape.to_shape().elements() != 1)
      return invalid_model("input {} ({}) must hold one element", i, shape.str());
    const Tensor* value = context.input(i).value;
    known = known && value && value->elements() == 1;
  }
  if (known) {
    const TensorView start = view_of(*context.input(0).value);
    const TensorView limit = view_of(*context.input(1).value);
    const TensorView delta = view_of(*context.input(2).value);
    const bool reals = is_float(start.type);
    SN_ASSIGN_OR_RETURN(y[0].value,
                        reals ? count_of_reals(load(start, 0), load(limit, 0), load(delta, 0))
                              : count_of_integers(load_integer(start, 0), load_integer(limit, 0),
                                                  load_integer(delta, 0)));
  }
  if (!known) y[0] = named_count(context);
  return context.set_shape(std::move(y));
}

}  // namespace

Status register_layer_range(LayerTypes& types) {
  return types.add(
      {.name = "range",
       .doc = "start, start + delta, … up to, without, limit. Inputs 0–2: start, limit, delta: one "
              "element each, of one numeric type. Output 0: 1-D, of that type.",
       .inputs = {3, 3},
       .value_inputs = {{0, ValueKind::offset}, {1, ValueKind::limit}, {2, ValueKind::size}},
       .infer = infer});
}

}  // namespace softneuro
