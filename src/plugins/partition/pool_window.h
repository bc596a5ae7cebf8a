// The window of a pool of two spatial axes, as libraries want it.
#pragma once

#include "core/layers/window.h"
#include "core/routine/problem.h"
#include "core/routine/routine.h"

namespace softneuro {

// The end padding, in input elements, that gives the output's size, which ceil_mode may have
// rounded up: not always axis.pad_end.
std::int64_t taken_pad_end(const WindowAxis& axis);

// Whether there is such a window, and every place of it meets the input.
Applicability check_pool_window(const Problem& problem);

}  // namespace softneuro
