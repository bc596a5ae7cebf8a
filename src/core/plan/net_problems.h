// A net as the problems that its layers pose.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "core/plan/runtime.h"
#include "core/routine/problem.h"

namespace softneuro {

struct LayerProblem {
  const Layer* layer = nullptr;  // of NetProblems::graph
  Problem problem;               // in the model's own formats
};
// Calls visit(id, spec) for each tensor of the layer.
template <class F>
void for_each_tensor(const LayerProblem& layer, const F& visit) {
  for (std::size_t i = 0; i < layer.layer->inputs.size(); ++i)
    if (const TensorId id = layer.layer->inputs[i]; id != kNoTensor)
      visit(id, layer.problem.inputs[i]);
  for (std::size_t o = 0; o < layer.layer->outputs.size(); ++o)
    if (const TensorId id = layer.layer->outputs[o]; id != kNoTensor)
      visit(id, layer.problem.outputs[o]);
}

struct NetProblems {
  std::shared_ptr<const Graph> graph;
  std::vector<LayerProblem> layers;  // in order; folded and data-dependent layers are left out
};

// The layers of `graph` for these shapes of its inputs, in order. `cancel` may be null; once it is
// true: the status cancelled.
SN_INTREE Result<NetProblems> infer_problems(std::shared_ptr<Runtime> runtime,
                                             std::shared_ptr<const Graph> graph,
                                             std::span<const Shape> input_shapes,
                                             const std::atomic<bool>* cancel = nullptr);

}  // namespace softneuro
