#include "verify/arithmetic.h"

#include <algorithm>

#include "core/graph/layer_type.h"

namespace softneuro {
namespace {

bool rounds_once(UnaryOp op) {
  switch (op) {
    case UnaryOp::relu:
    case UnaryOp::leaky_relu:
    case UnaryOp::thresholded_relu:
    case UnaryOp::clip:
    case UnaryOp::shrink:
    case UnaryOp::abs:
    case UnaryOp::neg:
    case UnaryOp::sign:
    case UnaryOp::reciprocal:
    case UnaryOp::sqrt:
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::square:
    case UnaryOp::linear:
    case UnaryOp::logical_not:
    case UnaryOp::bitwise_not:
    case UnaryOp::is_nan:
    case UnaryOp::is_inf:
      return true;
    default:
      return false;
  }
}

bool jumps(UnaryOp op) {
  return op == UnaryOp::floor || op == UnaryOp::ceil || op == UnaryOp::round || op == UnaryOp::sign;
}

bool jumps(BinaryOp op) {
  switch (op) {
    case BinaryOp::mod:
    case BinaryOp::fmod:
    case BinaryOp::equal:
    case BinaryOp::less:
    case BinaryOp::less_equal:
    case BinaryOp::greater:
    case BinaryOp::greater_equal:
      return true;
    default:
      return false;
  }
}

// Calls `unary` or `binary` with the layer's own function, if it has one, and with those of its
// post-ops; whether any of them gives true.
template <class Unary, class Binary>
bool any_function(const Layer& layer, Unary&& unary, Binary&& binary) {
  UnaryOp one{};
  BinaryOp two{};
  if (layer.type->name == "unary" && parse(layer.params.text("op"), one) && unary(one)) return true;
  if (layer.type->name == "binary" && parse(layer.params.text("op"), two) && binary(two))
    return true;
  return std::any_of(layer.post_ops.begin(), layer.post_ops.end(), [&](const PostOp& op) {
    return op.kind == PostOp::Kind::unary ? unary(op.unary) : binary(op.binary);
  });
}

}  // namespace

bool is_settled(const Layer& layer) {
  const LayerType& type = *layer.type;
  const bool is_function = type.name == "unary" || type.name == "binary";
  if (!is_function && type.elements == ElementSource::computed && !type.is_view &&
      !type.rounds_to_type && type.name != "where" && type.name != "clip")
    return false;
  return !any_function(
      layer, [](UnaryOp op) { return !rounds_once(op); },
      [](BinaryOp op) { return op == BinaryOp::pow; });
}

bool may_jump(const Layer& layer, const Graph& graph) {
  const auto is_real_input = [&](TensorId id) {
    return id != kNoTensor && is_float(graph.tensor(id).type);
  };
  if (layer.type->rounds_to_type && layer.outputs[0] != kNoTensor && is_real_input(layer.inputs[0]))
    if (const DataType to = graph.tensor(layer.outputs[0]).type;
        !is_float(to) && to != DataType::boolean)
      return true;
  return any_function(
      layer, [](UnaryOp op) { return jumps(op); }, [](BinaryOp op) { return jumps(op); });
}

bool rounds_to_levels(const Layer& layer) {
  return layer.type->category == LayerCategory::quantization ||
         any_function(
             layer, [](UnaryOp op) { return op == UnaryOp::fake_quantize; },
             [](BinaryOp) { return false; });
}

}  // namespace softneuro
