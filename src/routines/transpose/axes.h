// The movement that a transpose is.
#pragma once

#include "core/routine/problem.h"
#include "cpu/tensor/strided_copy.h"

namespace softneuro {

// Walks the output in the order of its memory. Precondition: the problem's shapes come from
// inference; plain or nhwc.
Result<StridedCopy> transpose_copy(const Problem& problem);

}  // namespace softneuro
