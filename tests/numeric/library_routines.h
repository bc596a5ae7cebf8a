// The routines of the library plugins that a program is linked with: a static build loads none.
#pragma once

#include <string>
#include <vector>

#include "core/routine/registry.h"

namespace softneuro::test {

// Adds them to `registry`. A line for each library whose routines could not be added, and why.
std::vector<std::string> add_library_routines(Registry& registry);

}  // namespace softneuro::test
