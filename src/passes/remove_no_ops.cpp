// remove_no_ops: layers whose output always equals their input.
//
// The layer types know when that is (LayerType::equal_input): identity (dropout is imported as
// one), casts to the same type, transposes and reshapes that the shapes prove to change nothing,
// pads by nothing, slices of all, concat of one tensor, + 0, × 1… And casts that undo a cast which
// lost nothing. Exact, but for the sign of a zero: −0 + 0 is 0.
#include "passes/layer_context.h"
#include "passes/pattern.h"

namespace softneuro {
namespace {

// float16 → float32 → float16 and the like: the way back from a cast that lost nothing. The
// source of that cast, or kNoTensor.
TensorId undone_cast(const Rewriter& rewriter, const Layer& layer) {
  if (!layer.type->rounds_to_type) return kNoTensor;
  const int first = producer_of_type(rewriter, layer.inputs[0], layer.type->name);
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
  if (layer.type->equal_input != nullptr) {
    const LayerContext context(rewriter.graph(), layer);
    if (const int input = layer.type->equal_input(context.infer_context()); input >= 0)
      return layer.inputs[static_cast<std::size_t>(input)];
  }
  return undone_cast(rewriter, layer);
}

}  // namespace

Status remove_no_ops(Rewriter& rewriter, int i) {
  const Layer& layer = rewriter.layer(i);
  if (layer.outputs[0] == kNoTensor) return {};
  const TensorId source = equal_input(rewriter, layer);
  if (source != kNoTensor) bypass(rewriter, i, source);
  return {};
}

}  // namespace softneuro
