// Element-wise functions inside of a kernel: post-ops behind what it computes.
#pragma once

#include <span>
#include <string>

#include "core/routine/descriptor.h"
#include "plugins/cuda/generate/map.h"

namespace softneuro::cuda {

// Whether tail() has text for `ops`, whose inputs are those of `problem`: functions of real numbers
// of at most 32 bits, operands that broadcast to output 0, in layouts without
// blocks.
Applicability supports_tail(const Problem& problem, std::span<const PostOp> ops);

// Statements that apply `ops` to the variable `float y`, the value of element `i` (of type Index)
// of output 0, counted in the order of its memory. Precondition: supports_tail().
Result<std::string> tail(KernelSource& source, const Problem& problem, std::span<const PostOp> ops);

// The same for the function of a map(), whose operands these are: those of `ops` are added. An
// input is an operand once, with the strides of broadcast().
Result<std::string> tail(KernelSource& source, const Problem& problem, std::span<const PostOp> ops,
                         std::vector<Operand>& operands);

// The value, a float or other number, of input `input` opposite element i of output 0, as tail()
// reads operands.
Result<std::string> operand(KernelSource& source, const Problem& problem, std::size_t input);

}  // namespace softneuro::cuda
