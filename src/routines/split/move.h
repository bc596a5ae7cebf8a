// The movement that a split is.
#pragma once

#include "core/routine/problem.h"
#include "core/routine/routine.h"

namespace softneuro {

// Each output is a block of columns of the input, seen as a matrix whose rows are the dimensions
// before the axis in memory. Plain and nhwc.
Result<std::unique_ptr<Kernel>> make_split_move(const Problem& problem);

}  // namespace softneuro
