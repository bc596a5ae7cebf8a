// The routines that all view layers (reshape, flatten, squeeze, unsqueeze, identity) have.
#pragma once

#include "routines/naive_routine.h"

namespace softneuro {

// Copies input 0's bytes to output 0, whatever its shape. Plans that make the output a view of the
// input never run it.
Result<std::unique_ptr<Kernel>> make_view_copy(const Problem&);
// cpu/direct in float16, bfloat16 and qint8 and, where the other layout's bytes are the same, in
// nhwc: so that a pooled [N, C, 1, 1] becomes [N, C] as it is.
Status register_direct_view(Registry& registry, const char* layer_type);

}  // namespace softneuro
