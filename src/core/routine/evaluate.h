// Running one layer apart from any plan: constant folding and shape arithmetic while planning.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "core/routine/registry.h"

namespace softneuro {

// The problem that `layer` poses for given inputs: shapes and data types of the outputs come from
// LayerType::infer. `inputs` are in layer.inputs' order, with value set wherever it is known.
// invalid_model if the layer contradicts its inputs; the message names the layer.
SN_INTREE Result<Problem> make_problem(const Layer& layer, std::vector<TensorSpec> inputs);

// The same for inputs that are all known: plain tensors, empty where left out.
SN_INTREE Result<Problem> make_problem(const Layer& layer, std::span<const Tensor> inputs);

// What evaluate() may take. A caller that computes a layer ahead of the run sets bounds: beyond
// them it is a layer like any other, which runs with all threads and can be cancelled.
struct EvaluateLimits {
  std::int64_t bytes = INT64_MAX;  // of one output
  double steps = INFINITY;         // LayerCost::steps; elements moved are bounded by bytes
};
// The most that is computed ahead, by a pass or a plan: a fraction of a second, on one thread and
// by plain routines.
inline constexpr double kMaxFoldedSteps = 2e8;

// Computes `layer` on the calling thread with the default routine. `inputs` are in layer.inputs'
// order, empty tensors for left-out ones; outputs likewise. Inputs must be in the plain layout.
// out_of_memory rather than passing a limit.
SN_INTREE Result<std::vector<Tensor>> evaluate(const Registry& registry, const Layer& layer,
                                               std::span<const Tensor> inputs,
                                               Allocator& allocator = default_allocator(),
                                               const EvaluateLimits& limits = {});

// The same with one routine, given by its descriptor ("cpu/naive"). not_found if there is none.
SN_INTREE Result<std::vector<Tensor>> evaluate_with(const Registry& registry,
                                                    std::string_view descriptor, const Layer& layer,
                                                    std::span<const Tensor> inputs);

}  // namespace softneuro
