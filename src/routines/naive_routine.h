// Registering cpu/naive.
#pragma once

#include "core/routine/function_routine.h"

namespace softneuro {

// Of each of `layer_types`: applies to every problem, in float32 and the plain layout, and leaves
// post-ops to the registry.
inline Status add_naive(Registry& registry, std::initializer_list<const char*> layer_types,
                        MakeKernel make) {
  return add_routines(registry, layer_types, {"cpu"}, "naive", {.create = make});
}

}  // namespace softneuro
