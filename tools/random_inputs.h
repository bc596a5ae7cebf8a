// Inputs for measuring where the user gives none.
#pragma once

#include "softneuro/tensor.h"

namespace softneuro::tool {

// Reals uniform in [−1, 1), integers and booleans 0 or 1 (valid as indices almost everywhere);
// the same for the same seed.
Result<Tensor> random_input(DataType type, const Shape& shape, std::uint64_t seed);

}  // namespace softneuro::tool
