// Whether two graphs say the same: layers, parameters, post-ops, connections, and the bits of
// constants.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/graph/graph.h"

namespace softneuro {

struct GraphDifference {
  std::string layer;  // of `graph`, the first in its order; empty: the graph's inputs or outputs
  std::string what;   // one phrase
};

// Layers are paired by structure: from the outputs, by position, to what makes them. Names of
// layers and tensors do not count, nor do quantisation annotations, layers that no output needs,
// and inputs that nothing reads. Constants must have the same bits, but those of `model` for which
// `is_computed` holds: another machine may have rounded them otherwise, by a few units in the last
// place. Both are verified, sorted, and have inferred shapes. Nothing: no difference.
SN_INTREE std::optional<GraphDifference> graph_difference(
    const Graph& graph, const Graph& model, const std::function<bool(const Tensor&)>& is_computed);

}  // namespace softneuro
