// Puts adapt layers between layers whose routines want different formats.
#pragma once

#include <memory>

#include "core/routine/routine_path.h"

namespace softneuro {

struct AdaptedGraph {
  std::shared_ptr<const Graph> graph;
  Choices choices;  // those of the path, and one for each adapt layer
};

// `graph` with an adapt layer for each (tensor, format) that is wanted but not produced: one step
// from what the producer made, shared by all consumers that want the same, right before the first
// of them. Tensors keep their ids; an adapt layer reads the tensor of `graph` that it adapts. Graph
// inputs are given and graph outputs wanted in the model's type and plain layout; outputs keep
// their names. Layers without a choice take and give the model's formats. Precondition: topological
// order, data types inferred; choices have a format for every tensor.
SN_INTREE Result<AdaptedGraph> insert_adapts(const Graph& graph, const RoutinePath& path);

}  // namespace softneuro
