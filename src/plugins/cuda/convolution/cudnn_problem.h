// A convolution problem as cuDNN takes it.
#pragma once

#include "core/routine/problem.h"
#include "plugins/cuda/convolution/cudnn_graph.h"

namespace softneuro::cuda {

// Of conv2 and conv_transpose2 with tensors of `type`, with the bias and the first post-ops as
// steps, as far as cuDNN computes them as cpu/naive does: NaN stays NaN, and no function is an
// approximation. unsupported, with the reason, if it cannot be said in cuDNN's terms.
Result<ConvolutionSpec> describe_convolution(const Problem& problem, DataType type);

// The problem with constants as its plans read them: weights in the tensors' type and layout, the
// bias in float32. Their values are the model's.
Problem stored_problem(const Problem& problem);

}  // namespace softneuro::cuda
