// dense on the tile kernels: rows of x are read where they lie, weights are packed.
#pragma once

#include "core/routine/routine.h"

namespace softneuro {

// The routine <schema>/tiled of dense: "cpu" computes in float32; "cpu:float16" too, but x, y and
// the packed weights are float16 in memory, which halves what a product of few rows has to read.
std::unique_ptr<Routine> make_tiled_dense(DataType type);

}  // namespace softneuro
