// CUDA C++ of element-wise chains: a layer and its post-ops in one pass over its output.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace softneuro::cuda {

// How an operand is read opposite the output's elements, which are counted in order.
struct ChainOperand {
  enum class Form { same, scalar, strided };
  Form form = Form::same;
  int rank = 0;  // of strided: dimensions that have to be told apart
};

// y = ops[n-1](… ops[0](operand 0)); PostOp::input is an index of `operands`.
struct ChainProgram {
  std::vector<PostOp> ops;
  std::vector<ChainOperand> operands;
  bool is_wide = false;  // elements are counted in 64 bits
};

// The most dimensions, and operands, of a chain; an argument of all of them stays below the 4 KiB
// that any driver takes.
inline constexpr int kMaxChainRank = 8;
inline constexpr int kMaxChainOperands = 16;

// Whether there are such functions of float32.
bool is_chain_op(const PostOp& op);

// One kernel, `softneuro_chain(Arguments)`. Equal programs give equal sources; shapes are in the
// argument, so that those differ by their ops and forms alone. Functions are those of
// core/graph/elementwise.h in float32.
std::string chain_source(const ChainProgram& program);
inline constexpr const char* kChainKernel = "softneuro_chain";

// The kernel's argument is, in this order: the output (a pointer); the operands (pointers, as many
// as there are); the count of elements (64 bits); for each strided operand a ChainWalk.
struct ChainWalk {
  std::int64_t dims[kMaxChainRank];
  std::int64_t strides[kMaxChainRank];
};

}  // namespace softneuro::cuda
