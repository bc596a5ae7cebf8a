// Element-wise chains: a layer and its post-ops in one pass over its output.
#pragma once

#include "plugins/cuda/generate/tail.h"

namespace softneuro::cuda {

// y = ops[n-1](… ops[0](input `first`)), where `first` is an input of `problem`; −1: output 0 as it
// stands. The inputs of `ops` are those of `problem`. Precondition: supports_tail().
Result<Launch> chain(const Problem& problem, int first, std::span<const PostOp> ops);

}  // namespace softneuro::cuda
