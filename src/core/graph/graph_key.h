// Digests of graphs and quantisations, for keys.
#pragma once

#include <cstdint>
#include <string>

#include "core/graph/graph.h"

namespace softneuro {

// Digest of what plans depend on: layers, parameters, shapes, types, quantisation, and a sample of
// the constants. Equal graphs give equal keys on every machine.
SN_INTREE std::uint64_t graph_key(const Graph& graph);

// Of all that graph_key() takes, and of every byte of the constants: what outputs depend on.
SN_INTREE std::uint64_t content_key(const Graph& graph);

// Equal for quantisations that map the same numbers; channel means do not count.
std::string digest_of(const Quantization& quantization);

}  // namespace softneuro
