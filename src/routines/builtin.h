// What is built in: tables that CMake generates from the files of src/core/layers/ and
// src/routines/ (cmake/SoftNeuroTables.cmake). Both end with a row of nulls.
#pragma once

#include <cstddef>

#include "core/base/cpu.h"
#include "core/routine/registry.h"

namespace softneuro {

struct LayerRegistration {
  const char* name;  // the file, for messages
  Status (*add)(LayerTypes&);
};
struct RoutineRegistration {
  const char* name;  // folder and file
  Isa isa;           // what the file is compiled for: add may be called only where it is there
  Status (*add)(Registry&);
};

extern const LayerRegistration builtin_layers[];
extern const std::size_t builtin_layer_count;
extern const RoutineRegistration builtin_routines[];
extern const std::size_t builtin_routine_count;

}  // namespace softneuro
