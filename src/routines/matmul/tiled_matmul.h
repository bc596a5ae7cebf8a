// matmul on the tile kernels: B is packed while running, rows of A are read where they lie.
#pragma once

#include "core/routine/routine.h"

namespace softneuro {

// The routine <schema>/tiled of matmul: "cpu" for float32, "cpu:float16" with a, b and y in
// float16, which are converted (sums are in float32). Its parameter `pack` (0 or 1): whether B is
// packed, where it could be read as it lies.
std::unique_ptr<Routine> make_tiled_matmul(DataType type);

}  // namespace softneuro
