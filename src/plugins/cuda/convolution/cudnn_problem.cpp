#include "plugins/cuda/convolution/cudnn_problem.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/layers/window.h"
#include "plugins/cuda/generate/prelude.h"

namespace softneuro::cuda {
namespace {

enum Input : std::size_t { kX, kWeights, kBias };

Status check_types(const Problem& problem, DataType type) {
  for (const TensorSpec* spec : {&problem.inputs[kX], &problem.outputs[0]})
    if (spec->type != type) return unsupported("needs {}", to_string(type));
  const TensorSpec& weights = problem.inputs[kWeights];
  if (weights.constant ? !is_narrow_float(weights.type) : weights.type != type)
    return unsupported("the weights are {}", to_string(weights.type));
  if (!problem.has_input(kBias)) return {};
  const TensorSpec& bias = problem.inputs[kBias];
  if (bias.constant ? !is_narrow_float(bias.type) : bias.type != DataType::float32)
    return unsupported("the bias is {}", to_string(bias.type));
  return {};
}

// What stands behind the convolution, as far as cuDNN does it as cpu/naive would: NaN stays NaN,
// and no function is an approximation.
std::vector<FusedStep> steps_of(const Problem& problem) {
  std::vector<FusedStep> steps;
  if (problem.has_input(kBias)) steps.push_back({FusedStep::Kind::add_channel, 0, kBias});
  const TensorSpec& y = problem.outputs[0];
  for (const PostOp& op : problem.post_ops) {
    if (op.kind == PostOp::Kind::unary) {
      const bool is_clip = op.unary == UnaryOp::clip && op.alpha == 0 && op.beta > 0;
      if (op.unary != UnaryOp::relu && !is_clip) break;
      steps.push_back({FusedStep::Kind::relu, is_clip ? op.beta : INFINITY, 0});
    } else {
      const TensorSpec& operand = problem.inputs[op.input];
      if (op.binary != BinaryOp::add || operand.constant || operand.shape != y.shape ||
          operand.type != y.type || operand.layout != y.layout)
        break;
      steps.push_back({FusedStep::Kind::add_tensor, 0, op.input});
    }
  }
  return steps;
}

Status describe_axis(const WindowAxis& axis, bool is_transposed, std::size_t i,
                     ConvolutionSpec& spec) {
  // A transposed axis leads from y back to x.
  const std::int64_t from = is_transposed ? axis.output : axis.input;
  const std::int64_t to = is_transposed ? axis.input : axis.output;
  const std::int64_t after =
      is_transposed ? (to - 1) * axis.stride + axis.extent() - from - axis.pad_begin : axis.pad_end;
  spec.pads_before[i] = axis.pad_begin;
  spec.pads_after[i] = std::max<std::int64_t>(after, 0);
  spec.strides[i] = axis.stride;
  spec.dilations[i] = axis.dilation;
  const std::int64_t room = from + spec.pads_before[i] + spec.pads_after[i] - axis.extent();
  if (spec.pads_before[i] < 0 || room < 0 || room / axis.stride + 1 != to)
    return unsupported("cuDNN has no window of that padding");
  return {};
}

}  // namespace

Problem stored_problem(const Problem& problem) {
  Problem stored = problem;
  if (stored.inputs[kWeights].constant) {
    stored.inputs[kWeights].type = stored.inputs[kX].type;
    stored.inputs[kWeights].layout = stored.inputs[kX].layout;
  }
  if (stored.has_input(kBias) && stored.inputs[kBias].constant)
    stored.inputs[kBias].type = DataType::float32;
  return stored;
}

Result<ConvolutionSpec> describe_convolution(const Problem& problem, DataType type) {
  SN_RETURN_IF_ERROR(check_types(problem, type));
  ConvolutionSpec spec;
  const TensorSpec &x = problem.inputs[kX], &w = problem.inputs[kWeights], &y = problem.outputs[0];
  spec.type = x.type;
  spec.is_channels_last = x.layout == Layout::channels_last;
  spec.is_transposed = problem.type->name == "conv_transpose2";
  for (const auto& [shape, dims] :
       {std::pair(&x.shape, &spec.x), std::pair(&w.shape, &spec.w), std::pair(&y.shape, &spec.y)})
    for (int d = 0; d < 4; ++d) {
      if ((*shape)[d] == 0) return unsupported("empty tensors are not supported");
      (*dims)[static_cast<std::size_t>(d)] = (*shape)[d];
    }
  const std::int64_t kernel[] = {w.shape[2], w.shape[3]};
  SN_ASSIGN_OR_RETURN(const Window window,
                      spec.is_transposed ? make_transposed_window(problem.params, x.shape, kernel)
                                         : make_window(problem.params, x.shape, kernel));
  for (std::size_t i = 0; i < 2; ++i)
    SN_RETURN_IF_ERROR(describe_axis(window.axes[i + 1], spec.is_transposed, i, spec));
  spec.steps = steps_of(problem);
  return spec;
}

}  // namespace softneuro::cuda
