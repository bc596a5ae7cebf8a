// What keys of measurements and packings say about quantisation.
#pragma once

#include <string>

#include "core/routine/problem.h"

namespace softneuro {

// The quantisations of the problem's qint8 tensors, in order, which Problem::str() leaves out:
// packed weights and errors depend on them. Empty if there are none.
std::string quantization_key(const Problem& problem);

}  // namespace softneuro
