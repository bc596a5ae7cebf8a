// The movement that pads and crops are.
#pragma once

#include <span>

#include "core/layers/pad.h"
#include "core/routine/problem.h"
#include "core/routine/routine.h"

namespace softneuro {

// What stays of x is copied into place; each other element asks where on x it lies. Plain and nhwc;
// the value may be of another real type than x, if it is constant.
Result<std::unique_ptr<Kernel>> make_pad_move(const Problem& problem);

// The same for any layer that pads input 0 with zeros, or cuts it: `amounts` by axis of input 0.
// The output has the size that follows from them.
Result<std::unique_ptr<Kernel>> make_pad_move(const Problem& problem,
                                              std::span<const PadAmount> amounts);

}  // namespace softneuro
