// What of CUDA is on this machine, for people.
#pragma once

#include "core/plugin/intree.h"

namespace softneuro::cuda {

// The driver, NVRTC and cuBLASLt, each whether the others are there or not. Opens all three.
std::vector<PluginLibrary> libraries();

}  // namespace softneuro::cuda
