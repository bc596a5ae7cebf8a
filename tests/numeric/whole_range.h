// Functions of one and two numbers over all numbers of a type, as layers and as post-ops: each
// element by itself, as exact as verify/function_accuracy.h says.
#pragma once

#include <string>
#include <vector>

#include "core/routine/registry.h"
#include "numeric/problem_set.h"
#include "verify/element_check.h"

namespace softneuro::test {

// What a routine gave for one function.
struct RangeResult {
  std::string function;  // "softplus", "conv2 softplus"
  std::string routine;   // descriptor and parameters
  ElementReport report;
};

// Numbers of float32 of every magnitude, where functions bend, and ties; the second list in another
// order. As many as fill a tensor whose channels fill blocks.
std::vector<double> numbers_of_float32(std::uint64_t seed);
// All of float16 or bfloat16.
std::vector<double> all_numbers(DataType type);

// Every routine that takes it, with every parameter: layers unary, binary and clip; and post-ops
// behind layers that have some of their own.
std::vector<RangeResult> run_unary(const Registry& registry, UnaryOp op);
std::vector<RangeResult> run_binary(const Registry& registry, BinaryOp op);
std::vector<RangeResult> run_post_op(const Registry& registry, UnaryOp op);

}  // namespace softneuro::test
