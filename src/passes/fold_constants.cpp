// fold_constants: layers whose result is known beforehand become constants.
//
// That is: layers all of whose inputs are constants (run here, once, by their default routines),
// and shape arithmetic, where ShapeValues knows the result though no input is constant, because
// the shapes are (Shape → Gather → Unsqueeze → Concat → Reshape as exporters write it). Dequantised
// constants are folded too, and keep their quantisation: routines that want the quantised form make
// exactly the model's integers again.
#include <algorithm>

#include "core/graph/shape_values.h"
#include "core/routine/evaluate.h"
#include "passes/adopt_quantization.h"
#include "passes/rewriter.h"

namespace softneuro {
namespace {

// Folding may make constants of this many bytes, or of four times the bytes of the inputs if that
// is more: it shall not blow a small fill or expand up to a large weight.
constexpr std::int64_t kMaxFoldedBytes = std::int64_t{1} << 20;

bool has_constant_inputs(const Rewriter& rewriter, const Layer& layer) {
  return std::all_of(layer.inputs.begin(), layer.inputs.end(), [&](TensorId id) {
    return id == kNoTensor || rewriter.tensor(id).is_constant();
  });
}

void make_constant(Rewriter& rewriter, TensorId id, Tensor value) {
  TensorDef& def = rewriter.tensor(id);
  def.type = value.data_type();
  def.shape = value.shape();
  def.constant = std::move(value);
}

// True if the layer's outputs are constants now. What cannot be run, or would be too large, stays.
bool fold_by_running(Rewriter& rewriter, const Layer& layer) {
  if (!layer.subgraphs.empty() || !has_constant_inputs(rewriter, layer)) return false;
  std::vector<Tensor> inputs;
  std::int64_t bytes = 0;
  for (const TensorId id : layer.inputs) {
    inputs.push_back(id == kNoTensor ? Tensor() : rewriter.tensor(id).constant);
    bytes += static_cast<std::int64_t>(inputs.back().bytes());
  }
  const PassContext& context = rewriter.context();
  EvaluateLimits limits;
  limits.bytes = std::max(kMaxFoldedBytes, 4 * bytes);
  limits.steps = kMaxFoldedSteps;
  Result<std::vector<Tensor>> outputs =
      evaluate(context.registry, layer, inputs, context.allocator(), limits);
  if (!outputs.ok()) return false;
  for (std::size_t i = 0; i < layer.outputs.size(); ++i)
    if (layer.outputs[i] != kNoTensor && (i >= outputs->size() || (*outputs)[i].empty()))
      return false;
  for (std::size_t i = 0; i < layer.outputs.size(); ++i)
    if (layer.outputs[i] != kNoTensor)
      make_constant(rewriter, layer.outputs[i], std::move((*outputs)[i]));
  return true;
}

// True if the layer's only output is a shape that is known all the same.
bool fold_by_shape(Rewriter& rewriter, const Layer& layer, ShapeValues& values) {
  values.visit(layer);
  if (layer.outputs.size() != 1 || has_constant_inputs(rewriter, layer)) return false;
  const Tensor* known = values.tensor(layer.outputs[0]);
  if (known == nullptr || known->data_type() != rewriter.tensor(layer.outputs[0]).type)
    return false;
  make_constant(rewriter, layer.outputs[0], *known);
  return true;
}

}  // namespace

Status fold_constants(Graph& graph, PassContext& context) {
  Rewriter rewriter(graph, context);
  ShapeValues values(graph);
  for (int i = 0; i < rewriter.count(); ++i) {
    SN_RETURN_IF_ERROR(check_cancelled(context.options.cancel));
    const Layer& layer = rewriter.layer(i);
    std::optional<Quantization> quantization;
    if (is_dequantize(layer) && layer.post_ops.empty())
      quantization = quantization_of(graph, layer);
    if (!fold_by_shape(rewriter, layer, values) && !fold_by_running(rewriter, layer)) continue;
    if (quantization && !graph.tensor(layer.outputs[0]).quantization)
      graph.tensor(layer.outputs[0]).quantization = std::move(quantization);
    rewriter.remove(i);
    ++context.changes;
  }
  return rewriter.finish();
}

}  // namespace softneuro
