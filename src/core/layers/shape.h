// What shape inference and routines of `shape` share.
#pragma once

#include "core/graph/params.h"

namespace softneuro {

struct AxisSpan {
  int first = 0;
  int count = 0;
};
// The axes of a tensor of `rank` that parameters start and end of `shape` take; limits beyond it
// are cut off.
SN_INTREE AxisSpan shape_axes(const Params& params, int rank);

}  // namespace softneuro
