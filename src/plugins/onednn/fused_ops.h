// Post-ops of a problem in oneDNN's terms.
#pragma once

#include <optional>
#include <vector>

#include "core/routine/problem.h"
#include "plugins/onednn/library.h"

namespace softneuro::onednn {

// One post-op of a primitive.
struct FusedStep {
  enum class Extent { none, scalar, channel, whole };  // none: element-wise, no operand

  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;     // element-wise
  Extent extent = Extent::none;  // what the operand has of output 0: one value, one per channel…
  std::size_t input = 0;         // the operand
  dnnl::memory::data_type type = dnnl::memory::data_type::undef;  // the operand's
};

struct FusedOps {
  std::vector<FusedStep> steps;
  std::size_t taken = 0;  // post-ops of the problem that the steps stand for, from the first on
  float unit = 1;         // what the primitive is to divide its sums by before the steps
};

// What an activation is in steps; nothing where the library has no equal.
std::optional<std::vector<FusedStep>> activation_steps(const PostOp& op);
// The functions of two operands that the library computes as we do; its max and min lose NaN.
std::optional<dnnl::algorithm> algorithm_of(BinaryOp op);
// Whether a step makes a number of NaN in the library's generated code: max and min whose NaN
// operand is not the one that is kept. Relu with a slope compares and blends, which keeps NaN.
bool loses_nan(const FusedStep& step);
// Whether it subtracts from 1 what is near 1, so that where the result is small nothing of it is
// left, or a negative number: exp(x) − 1, 1 + erf(x), 1 + tanh(x), log(1 + exp(x)), and what mish
// does. Where the result becomes one of 256 levels it does not matter.
bool loses_tail(const FusedStep& step);

// As many of the first `most` post-ops as the library knows on float32, where output 0 and the
// operands are float32 or bfloat16. `channel_axis`: of output 0, for operands with one value per
// channel. NaN is treated as the library does: relu and clip of it may be 0.
FusedOps fuse_float(const Problem& problem, int channel_axis, std::size_t most);
// All of them, and what comes before output 0 is stored: a primitive whose sums are real numbers
// divided by `unit` gives output 0 as qint8 (its quantisation is the problem's) or float32.
// Nothing where the library cannot do all of it.
std::optional<FusedOps> fuse_quantized(const Problem& problem, int channel_axis);

// The format of a tensor, or of a part of one, of that shape. `dims`: logical order, as the shape.
// `layout`: plain, channels_last, nchw8c or nchw16c.
dnnl::memory::desc desc_of(const dnnl::memory::dims& dims, dnnl::memory::data_type type,
                           Layout layout);
// float32 and bfloat16.
dnnl::memory::data_type library_type(DataType type);
// The same, and qint8: u8 or s8 as the quantisation says.
dnnl::memory::data_type element_type(const TensorSpec& spec);

}  // namespace softneuro::onednn
