// remove_no_ops: layers whose output always equals their input.
//
// identity (dropout is imported as one), casts to the same type, transposes and reshapes that the
// shapes prove to change nothing, pads by nothing, slices of all, concat of one tensor, + 0, × 1…
#include <algorithm>
#include <cmath>

#include "passes/constants.h"
#include "passes/pattern.h"

namespace softneuro {
namespace {

bool all_are(std::span<const std::int64_t> values, std::int64_t expected) {
  return std::all_of(values.begin(), values.end(),
                     [expected](std::int64_t v) { return v == expected; });
}

bool keeps_shape(const Rewriter& rewriter, const Layer& layer) {
  return same_shape(rewriter.tensor(layer.inputs[0]).shape,
                    rewriter.tensor(layer.outputs[0]).shape);
}

bool is_identity_transpose(const Rewriter& rewriter, const Layer& layer) {
  const auto perm = layer.params.integers("perm");
  if (perm.empty()) {
    const DynamicShape& shape = rewriter.tensor(layer.inputs[0]).shape;
    return shape.ranked() && shape.rank() <= 1;
  }
  for (std::size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

// A left-out list counts as all `expected`; one that is not constant as something else.
bool input_is_all(const Rewriter& rewriter, const Layer& layer, std::size_t input,
                  std::int64_t expected) {
  if (!has_input(layer, input)) return true;
  const TensorDef& def = rewriter.tensor(layer.inputs[input]);
  return def.is_constant() && all_equal(def.constant, static_cast<double>(expected));
}

// Equal shapes alone do not do: a step of −1 keeps them too.
bool is_full_slice(const Rewriter& rewriter, const Layer& layer) {
  if (!keeps_shape(rewriter, layer)) return false;
  if (!has_input(layer, 4)) return true;
  const auto steps = constant_integers(rewriter.graph(), layer, 4);
  return steps && std::all_of(steps->begin(), steps->end(), [](std::int64_t s) { return s > 0; });
}

// By scales other than 1 an image can keep its size and yet change.
bool is_identity_resize(const Rewriter& rewriter, const Layer& layer) {
  return keeps_shape(rewriter, layer) &&
         layer.params.text("coordinate_mode") != "tf_crop_and_resize" &&
         input_is_all(rewriter, layer, 2, 1);
}

bool is_one_by_one_pool(const Layer& layer) {
  if (spatial_rank(layer, "max_pool") == 0 && spatial_rank(layer, "avg_pool") == 0) return false;
  return layer.outputs.size() == 1 && all_are(layer.params.integers("kernel"), 1) &&
         all_are(layer.params.integers("strides"), 1) && all_are(layer.params.integers("pads"), 0);
}

bool is_identity_unary(const Layer& layer) {
  const double alpha = layer.params.real("alpha"), beta = layer.params.real("beta");
  const std::optional<UnaryOp> op = unary_of(layer);
  if (op == UnaryOp::linear) return alpha == 1 && beta == 0;
  if (op == UnaryOp::clip) return alpha == -INFINITY && beta == INFINITY;
  return false;
}

// The operand that a binary layer always passes on; kNoTensor if there is none.
TensorId neutral_binary(const Rewriter& rewriter, const Layer& layer) {
  const std::optional<BinaryOp> op = binary_of(layer);
  if (!op) return kNoTensor;
  const auto passes_on = [&](std::size_t x, double neutral) {
    const TensorDef& constant = rewriter.tensor(layer.inputs[1 - x]);
    return constant.is_constant() && all_equal(constant.constant, neutral) &&
           same_shape(rewriter.tensor(layer.inputs[x]).shape,
                      rewriter.tensor(layer.outputs[0]).shape);
  };
  switch (*op) {
    case BinaryOp::add:
      return passes_on(0, 0) ? layer.inputs[0] : passes_on(1, 0) ? layer.inputs[1] : kNoTensor;
    case BinaryOp::mul:
      return passes_on(0, 1) ? layer.inputs[0] : passes_on(1, 1) ? layer.inputs[1] : kNoTensor;
    case BinaryOp::sub:
      return passes_on(0, 0) ? layer.inputs[0] : kNoTensor;
    case BinaryOp::div:
    case BinaryOp::pow:
      return passes_on(0, 1) ? layer.inputs[0] : kNoTensor;
    default:
      return kNoTensor;
  }
}

// float16 → float32 → float16 and the like: the way back from a cast that lost nothing. The
// source of that cast, or kNoTensor.
TensorId undone_cast(const Rewriter& rewriter, const Layer& layer) {
  const int first = rewriter.producer_of_type(layer.inputs[0], "cast");
  if (first < 0) return kNoTensor;
  const TensorId source = rewriter.layer(first).inputs[0];
  const DataType from = rewriter.tensor(source).type;
  const DataType wide = rewriter.tensor(layer.inputs[0]).type;
  if (rewriter.tensor(layer.outputs[0]).type != from) return kNoTensor;
  const bool real_widening =
      is_float(from) &&
      (wide == DataType::float64 || (wide == DataType::float32 && from != DataType::float64));
  const bool integer_widening = (from == DataType::boolean && is_integer(wide)) ||
                                (from == DataType::int32 && wide == DataType::int64);
  return real_widening || integer_widening ? source : kNoTensor;
}

// The tensor that the layer's first output always equals; kNoTensor if there is none.
TensorId equal_input(const Rewriter& rewriter, const Layer& layer) {
  if (!layer.post_ops.empty() || layer.inputs.empty() || layer.inputs[0] == kNoTensor)
    return kNoTensor;
  const std::string& type = layer.type->name;
  const TensorId x = layer.inputs[0];
  const auto if_so = [x](bool same) { return same ? x : kNoTensor; };
  if (type == "identity") return x;
  if (type == "cast") {
    const bool same = rewriter.tensor(x).type == rewriter.tensor(layer.outputs[0]).type;
    return same ? x : undone_cast(rewriter, layer);
  }
  if (type == "transpose") return if_so(is_identity_transpose(rewriter, layer));
  // Plain tensors in row-major order: the same shape means the same tensor.
  if (type == "reshape" || type == "flatten" || type == "squeeze" || type == "unsqueeze" ||
      type == "expand" || type == "tile")
    return if_so(keeps_shape(rewriter, layer));
  if (type == "slice") return if_so(is_full_slice(rewriter, layer));
  if (type == "pad") return if_so(has_input(layer, 1) && input_is_all(rewriter, layer, 1, 0));
  if (type == "concat") return if_so(layer.own_inputs == 1);
  if (type == "split") return if_so(layer.outputs.size() == 1);
  if (type == "resize") return if_so(is_identity_resize(rewriter, layer));
  if (type == "clip") return if_so(!has_input(layer, 1) && !has_input(layer, 2));
  if (type == "unary") return if_so(is_identity_unary(layer));
  if (type == "binary") return neutral_binary(rewriter, layer);
  return if_so(is_one_by_one_pool(layer));
}

}  // namespace

Status remove_no_ops(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  for (int i = 0; i < rewriter.count(); ++i) {
    const Layer& layer = rewriter.layer(i);
    if (layer.outputs[0] == kNoTensor) continue;
    const TensorId source = equal_input(rewriter, layer);
    if (source != kNoTensor) rewriter.bypass(i, source);
  }
  return rewriter.finish();
}

}  // namespace softneuro
