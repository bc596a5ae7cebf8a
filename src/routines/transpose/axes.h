// The movement that a transpose is.
#pragma once

#include "core/problem.h"
#include "core/strided_copy.h"

namespace softneuro {

// Walks the output in order. Precondition: the problem's shapes come from inference.
Result<StridedCopy> transpose_copy(const Problem& problem);

}  // namespace softneuro
