// The movement that expand is.
#pragma once

#include "core/routine/problem.h"
#include "core/routine/routine.h"

namespace softneuro {

// Plain.
Result<std::unique_ptr<Kernel>> make_expand_move(const Problem& problem);

}  // namespace softneuro
