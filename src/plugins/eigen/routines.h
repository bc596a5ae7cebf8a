// The routines over Eigen: one function per file of routines.
#pragma once

#include "core/plugin/intree.h"

namespace softneuro::eigen {

Status register_det(Registry& registry);
Status register_einsum(Registry& registry);
Status register_matmul(Registry& registry);

// "eigen 3.4.0": that of the headers.
const char* library_name();
std::vector<PluginLibrary> libraries();

// All of them; nothing if they are there already.
Status add_routines(Registry& registry);

}  // namespace softneuro::eigen
