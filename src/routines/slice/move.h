// The movement that a slice is.
#pragma once

#include "core/routine/problem.h"
#include "core/routine/routine.h"

namespace softneuro {

// Reads the input with other strides, from the first index on. Plain and nhwc.
Result<std::unique_ptr<Kernel>> make_slice_move(const Problem& problem);

}  // namespace softneuro
