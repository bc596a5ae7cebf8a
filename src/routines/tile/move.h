// The movement that tile is.
#pragma once

#include "core/routine/problem.h"
#include "core/routine/routine.h"

namespace softneuro {

// Plain and nhwc.
Result<std::unique_ptr<Kernel>> make_tile_move(const Problem& problem);

}  // namespace softneuro
