// The one routine that all view layers (reshape, flatten, squeeze, unsqueeze, identity) have.
#pragma once

#include <memory>
#include <string_view>

#include "core/routine.h"

namespace softneuro {

// cpu/naive of a view layer: copies input 0's bytes to output 0. Plans that make the output a view
// of the input never run it.
std::unique_ptr<Routine> make_view_copy_routine(std::string_view layer_type);

}  // namespace softneuro
