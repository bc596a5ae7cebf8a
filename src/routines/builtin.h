// The routines that are built in: a table that CMake generates from the files of src/routines/ and
// src/adapt/ (cmake/SoftNeuroTables.cmake). It ends with a row of nulls.
#pragma once

#include <cstddef>

#include "core/routine/registry.h"

namespace softneuro {

struct RoutineRegistration {
  const char* name;  // folder and file
  Status (*add)(Registry&);
};
extern const RoutineRegistration builtin_routines[];
extern const std::size_t builtin_routine_count;

// A registry of all of them, on builtin_layer_types().
SN_INTREE Result<Registry> make_builtin_registry();

}  // namespace softneuro
