// What kind of arithmetic a layer does: whether every machine gives the same bits, and whether
// these may jump.
#pragma once

#include "core/graph/graph.h"

namespace softneuro {

// Each element follows from IEEE 754 alone: moved, or the result of operations that round once.
// Then a graph that computes the same gives the same bits up to the order of such operations.
// Post-ops count.
bool is_settled(const Layer& layer);
// Inputs that differ by a rounding may give outputs that differ by a whole number: floor,
// comparisons, casts to integers. Post-ops count.
bool may_jump(const Layer& layer, const Graph& graph);
// Rounds to levels of a quantised tensor, of which neighbours are as good.
bool rounds_to_levels(const Layer& layer);

}  // namespace softneuro
