#include "passes/layer_context.h"

namespace softneuro {

LayerContext::LayerContext(const Graph& graph, const Layer& layer)
    : type_(*layer.type),
      inputs_(layer.layer_inputs),
      outputs_(layer.outputs.size()),
      context_(layer.params, inputs_, outputs_) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (layer.inputs[i] == kNoTensor) continue;
    const TensorDef& def = graph.tensor(layer.inputs[i]);
    inputs_[i] = {def.type, def.shape, def.is_constant() ? &def.constant : nullptr};
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (layer.outputs[i] != kNoTensor)
      outputs_[i] = {graph.tensor(layer.outputs[i]).type, graph.tensor(layer.outputs[i]).shape};
}

}  // namespace softneuro
