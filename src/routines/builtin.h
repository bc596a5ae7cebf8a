// The routines that are built in: a table that CMake generates from the files of src/routines/ and
// src/adapt/ (cmake/SoftNeuroTables.cmake). It ends with a row of nulls.
#pragma once

#include <cstddef>

#include "core/base/cpu.h"
#include "core/routine/registry.h"

namespace softneuro {

struct RoutineRegistration {
  const char* name;  // folder and file
  Isa isa;           // what the file is compiled for: add may be called only where it is there
  Status (*add)(Registry&);
};
extern const RoutineRegistration builtin_routines[];
extern const std::size_t builtin_routine_count;

// A registry of all of them that this processor can run, on builtin_layer_types().
SN_INTREE Result<Registry> make_builtin_registry();

}  // namespace softneuro
