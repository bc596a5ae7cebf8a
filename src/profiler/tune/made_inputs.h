// Inputs for a net without samples.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/plan/runtime.h"

namespace softneuro {

// Sets of inputs, in the order of the graph's inputs, that `graph` runs on with default choices;
// none if no such set was found. They differ in their distribution: about normal, a share of 1,
// and 0 to 255 as of images; where the model quantises an input, within that range. Inputs whose
// values the net uses as shapes, positions, steps or counts get values that such layers accept.
SN_INTREE Result<std::vector<std::vector<Tensor>>> make_inputs(
    const std::shared_ptr<Runtime>& core, const std::shared_ptr<const Graph>& graph,
    std::span<const Shape> shapes);

}  // namespace softneuro
