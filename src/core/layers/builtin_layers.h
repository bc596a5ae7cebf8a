// The layer types that are built in: a table that CMake generates from the files beside this one
// (cmake/SoftNeuroTables.cmake). It ends with a row of nulls.
#pragma once

#include <cstddef>

#include "core/graph/layer_type.h"

namespace softneuro {

struct LayerRegistration {
  const char* name;  // the file, for messages
  Status (*add)(LayerTypes&);
};
extern const LayerRegistration builtin_layers[];
extern const std::size_t builtin_layer_count;

// All of them. Made once, thread safe.
SN_INTREE const LayerTypes& builtin_layer_types();

}  // namespace softneuro
