// Graphs that use every part of the .dnn format, over layer types of their own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/layer_type.h"

namespace softneuro::test {

// "mix": any inputs, up to three outputs, a parameter of every kind. "loop": owns subgraphs.
const LayerTypes& sample_types();

// A valid graph; everything about it comes from `seed`. Subgraphs nest at most `nesting` deep.
Graph random_graph(std::uint32_t seed, int nesting = 2);

// A .dnn file after changes to its parts: sizes and checksums of header, graph part and segments
// are made right again, so that only the meaning of the change is left to be refused.
std::vector<std::byte> resealed(std::span<const std::byte> file);

}  // namespace softneuro::test
