// A layer of a graph as the functions of its layer type see it.
#pragma once

#include <vector>

#include "core/graph/layer_type.h"

namespace softneuro {

// Types and shapes of layer inputs and outputs as far as the graph has them; values of constants.
class LayerContext {
 public:
  // Keeps references to graph and layer: neither may change while the context is in use.
  LayerContext(const Graph& graph, const Layer& layer);
  LayerContext(const LayerContext&) = delete;
  LayerContext& operator=(const LayerContext&) = delete;

  const InferContext& infer_context() const { return context_; }
  // Works out the outputs again. False if the inputs contradict the layer.
  bool infer() { return type_.infer(context_).ok(); }

 private:
  const LayerType& type_;
  std::vector<InferContext::Input> inputs_;
  std::vector<InferContext::Output> outputs_;
  InferContext context_;
};

}  // namespace softneuro
