// Folds that several layers have.
#pragma once

#include <string>

#include "plugins/cuda/generate/rows.h"

namespace softneuro::cuda {

inline constexpr const char* kInfinity = "__uint_as_float(0x7f800000u)";
inline constexpr const char* kNan = "__uint_as_float(0x7fc00000u)";

// Member v, of `type`, is the sum of what the expression `of` makes of each x.
Fold sum_fold(const char* type, const std::string& of);
// max and sum: Σ exp(x − max), rescaled whenever a larger x is met. sum is NaN if an x is; equal
// infinities count 1 each.
Fold exponential_fold();
// The variable `float root`, √v of a `double v` whose root is a float: squares of floats can
// neither be stored as float nor does the host's compiler in the tests have sqrt().
inline constexpr const char* kRoot =
    "const double scale = v > 0x1p100 ? 0x1p-200 : v < 0x1p-100 ? 0x1p200 : 1;\n"
    "const float unscale = v > 0x1p100 ? 0x1p100f : v < 0x1p-100 ? 0x1p-100f : 1;\n"
    "const float root = sqrtf((float)(v * scale)) * unscale;\n";

}  // namespace softneuro::cuda
