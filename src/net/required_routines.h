// The routines that tuned paths of a net take: what a runtime must hold to run the net as it was
// tuned (cmake/SoftNeuroEdge.cmake).
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/routine/routine_path.h"

namespace softneuro {

struct RequiredRoutine {
  // Folder in src/routines that implements it: max_pool1 is in "max_pool2". The layer type if the
  // library has no such routine.
  std::string folder;
  std::string routine;  // descriptor
  // False: a plugin's, another device's, or of a library with more routines. A runtime without it
  // takes a default choice instead.
  bool is_builtin = true;
  std::set<std::string> layers;  // names; of adapt layers, that of their tensor
};

// Sorted by folder and descriptor. Adapt layers count, and so does what runs or packs weights
// inside of childnets. `graph` as in the file, with the paths made for it. Error: the
// inner layers of a childnet cannot be determined on this machine.
SN_INTREE Result<std::vector<RequiredRoutine>> required_routines(
    Graph graph, std::span<const RoutinePath> paths);

}  // namespace softneuro
