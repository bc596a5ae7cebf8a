// What shape inference and routines of transpose share.
#pragma once

#include <vector>

#include "core/base/error.h"
#include "core/graph/params.h"

namespace softneuro {

// Axis of the input that becomes axis i of the output. invalid_model if `perm` is not a
// permutation of the axes; an empty perm reverses them.
SN_INTREE Result<std::vector<int>> transpose_order(const Params& params, int rank);

}  // namespace softneuro
