// Random inputs of one layer's problem.
#pragma once

#include <vector>

#include "core/routine/problem.h"

namespace softneuro {

// Inputs of a problem in the model's own formats: constants as they are, real numbers from a fixed
// random sequence within the range of the tensor's quantisation (else normal), integers zero.
Result<std::vector<Tensor>> random_inputs(const Problem& problem, Allocator& allocator);

// Such numbers for one of them.
void fill_random(const TensorSpec& spec, Tensor& tensor);

// The same with real numbers of all magnitudes, whole ones and ties among them, most of them where
// exponentials are neither 0 nor infinite: for element-wise layers, whose errors hide in the tails.
Result<std::vector<Tensor>> tail_inputs(const Problem& problem, Allocator& allocator);

}  // namespace softneuro
