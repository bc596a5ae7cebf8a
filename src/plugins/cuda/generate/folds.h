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

}  // namespace softneuro::cuda
