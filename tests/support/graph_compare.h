// Comparing graphs, constants' bytes and subgraphs included.
#pragma once

#include <string>

#include "core/graph/graph.h"

namespace softneuro::test {

// What differs first, in words; empty if nothing does. Layer types are compared by name.
std::string difference(const Graph& a, const Graph& b);

}  // namespace softneuro::test
