// One layer of a graph on given tensors, with the default routine and the runtime's threads.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "core/plan/runtime.h"

namespace softneuro {

struct LayerRun {
  std::vector<Tensor> outputs;  // plain, in the model's types
  double steps = 0;             // what it takes, in multiply-adds of a fast routine
};

// `inputs` are plain, in the layer's order, empty where left out. `layer` is of `graph`. Errors:
// what planning or running the layer gives; out_of_memory rather than taking more than
// `most_steps`.
Result<LayerRun> run_layer(Runtime& runtime, const Graph& graph, const Layer& layer,
                           std::vector<Tensor> inputs, double most_steps = INFINITY);

}  // namespace softneuro
