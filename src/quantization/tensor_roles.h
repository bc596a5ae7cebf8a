// What calibration has to know of a graph before it runs it.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace softneuro {

// The axis of the channels by which layers with weights read a tensor, for every tensor of the
// graph: 1 (convolutions), the last (dense), or −1 where no such layer reads it, or they disagree.
std::vector<int> channel_axes(const Graph& graph);

// Layer `layer` only moves elements of input 0 around, or takes the largest of some: its output
// has the levels of its input. Post-ops make it false.
bool moves_elements(const Layer& layer);

}  // namespace softneuro
