// Element-wise chains: a layer and its post-ops in one pass over its output.
#pragma once

#include "plugins/cuda/generate/tail.h"

namespace softneuro::cuda {

// y = ops[n-1](… ops[0](input `first`)), where `first` is an input of `problem`; −1: output 0 as it
// stands. The inputs of `ops` are those of `problem`. Precondition: supports_tail().
Result<Launch> chain(const Problem& problem, int first, std::span<const PostOp> ops);

// A layer and the problem's post-ops as one map(), in place if possible: y = post_ops(value).
// `value`: an expression of the output's number, of those of `operands`, x0, x1, ….
Result<Program> layer_map(KernelSource& source, const Problem& problem,
                          std::vector<Operand> operands, const std::string& value);
// The same with all inputs of the layer, which broadcast to output 0.
Result<Program> layer_map(KernelSource& source, const Problem& problem, const std::string& value);

}  // namespace softneuro::cuda
