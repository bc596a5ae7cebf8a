// The movement that space_to_depth is.
#pragma once

#include "core/routine/problem.h"
#include "core/routine/routine.h"

namespace softneuro {

// Plain and nhwc.
Result<std::unique_ptr<Kernel>> make_space_to_depth_move(const Problem& problem);

}  // namespace softneuro
