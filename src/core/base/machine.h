// The machine that runs this process, as far as measured times and kernels depend on it.
#pragma once

#include <string>

#include "softneuro/export.h"

namespace softneuro {

// Processor and instruction set as far as routines may use it: "AMD EPYC …, avx512". Two machines
// of one name run the same kernels at about the same speed. Thread safe.
SN_INTREE const std::string& machine_name();

}  // namespace softneuro
