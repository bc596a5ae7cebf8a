// What calibration has to know of a graph before it runs it.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace softneuro {

// The axis of the channels by which layers with weights read a tensor, for every tensor of the
// graph; −1 where no such layer reads it, or they disagree.
std::vector<int> channel_axes(const Graph& graph);

// The layer only moves or picks elements of input 0 (LayerType::moves_elements): its output has the
// levels of its input. Post-ops make it false.
bool moves_elements(const Layer& layer);
// The layer puts elements of all inputs side by side (concat). Post-ops make it false.
bool joins_elements(const Layer& layer);

}  // namespace softneuro
