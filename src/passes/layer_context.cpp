#include "passes/layer_context.h"

namespace softneuro {
namespace {

std::vector<InferContext::Input> inputs_of(const Graph& graph, const Layer& layer) {
  std::vector<InferContext::Input> inputs(layer.own_inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (layer.inputs[i] == kNoTensor) continue;
    const TensorDef& def = graph.tensor(layer.inputs[i]);
    inputs[i] = {def.type, def.shape, def.is_constant() ? &def.constant : nullptr};
  }
  return inputs;
}

std::vector<InferContext::Output> outputs_of(const Graph& graph, const Layer& layer) {
  std::vector<InferContext::Output> outputs(layer.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (layer.outputs[i] != kNoTensor)
      outputs[i] = {graph.tensor(layer.outputs[i]).type, graph.tensor(layer.outputs[i]).shape};
  return outputs;
}

}  // namespace

LayerContext::LayerContext(const Graph& graph, const Layer& layer)
    : inputs_(inputs_of(graph, layer)),
      outputs_(outputs_of(graph, layer)),
      context_(layer.params, inputs_, outputs_) {}

}  // namespace softneuro
