// softneuro inspect --routines: what an edge build must hold to run tuned nets as they were tuned.
#pragma once

#include <string>
#include <vector>

namespace softneuro::tool {

// Prints the list that CMake takes as SOFTNEURO_EDGE_ROUTINES (cmake/SoftNeuroEdge.cmake), or the
// same as JSON. Returns the exit status.
int list_tuned_routines(const std::vector<std::string>& files, bool json);

}  // namespace softneuro::tool
