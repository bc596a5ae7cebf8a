// What of CUDA is on this machine, for people.
#pragma once

#include "core/plugin/intree.h"

namespace softneuro::cuda {

// The driver, NVRTC, cuBLASLt and, where the plugin was built with it, cuDNN, each whether the
// others are there or not. Opens all of them.
std::vector<PluginLibrary> libraries();

}  // namespace softneuro::cuda
