// Constants beside blocked layouts.
#pragma once

#include "core/routine/problem.h"

namespace softneuro {

// The value of a plain constant that broadcasts to `output`, with its channels padded with zeros to
// whole blocks of `layout`; empty if none need be. Of a constant in a non-blocked layout's company:
// always empty. Precondition: its rank is at most the output's.
SN_INTREE Result<Tensor> pad_channels(const TensorSpec& constant, const Shape& output,
                                      Layout layout);

}  // namespace softneuro
