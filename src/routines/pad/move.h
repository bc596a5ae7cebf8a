// The movement that a pad is.
#pragma once

#include "core/routine/problem.h"
#include "core/routine/routine.h"

namespace softneuro {

// What stays of x is copied into place; each other element asks where on x it lies. Plain and nhwc;
// the value may be of another real type than x, if it is constant.
Result<std::unique_ptr<Kernel>> make_pad_move(const Problem& problem);

}  // namespace softneuro
