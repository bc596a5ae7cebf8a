// The routines that all view layers (reshape, flatten, squeeze, unsqueeze, identity) have.
#pragma once

#include "core/routine/registry.h"

namespace softneuro {

// cpu/naive of a view layer: copies input 0's bytes to output 0. Plans that make the output a view
// of the input never run it.
Status register_naive_view(Registry& registry, const char* layer_type);
// cpu/direct in float16, bfloat16 and qint8 and, where the other layout's bytes are the same, in
// nhwc: so that a pooled [N, C, 1, 1] becomes [N, C] as it is.
Status register_direct_view(Registry& registry, const char* layer_type);

}  // namespace softneuro
