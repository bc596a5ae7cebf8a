// The movement that depth_to_space is.
#pragma once

#include "core/routine/problem.h"
#include "core/routine/routine.h"

namespace softneuro {

// Plain and nhwc.
Result<std::unique_ptr<Kernel>> make_depth_to_space_move(const Problem& problem);

}  // namespace softneuro
