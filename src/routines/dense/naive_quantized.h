// What cpu:qint8/naive of dense and of conv1/2/3 share: the integers' sums become float32, post-ops
// follow, and a qint8 output is rounded.
#pragma once

#include <cmath>

#include "core/routine/function_routine.h"
#include "cpu/qint8/epilogue.h"
#include "cpu/qint8/requantize.h"
#include "cpu/tensor/element_place.h"

namespace softneuro {

// The kernel. `inner`: elements of the output behind its axis of channels (or columns).
// sum(weights, level, i, m) is Σ level · weight for element i of the output, of channel m;
// level(at) is element `at` of x less the zero point. Elements count as in the plain layout.
template <class Sum>
Result<std::unique_ptr<Kernel>> make_naive_quantized(const Problem& problem, std::int64_t inner,
                                                     Sum sum) {
  SN_ASSIGN_OR_RETURN(const QuantizedWeights weights, quantize_weights(problem));
  SN_ASSIGN_OR_RETURN(const PostOpProgram post_ops, PostOpProgram::create(problem));
  const TensorScale x = tensor_scale(problem.inputs[0]);
  const TensorSpec& y = problem.outputs[0];
  const std::int64_t elements = y.shape.elements();
  const auto requantize = y.type == DataType::qint8 ? Requantize(tensor_scale(y)) : Requantize();
  const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(float);
  return make_function_kernel({.workspace_bytes = bytes}, [=](Context& context) {
    const TensorView& in = context.input(0);
    const TensorView& out = context.output(0);
    auto* results = reinterpret_cast<float*>(context.workspace());
    const auto level = [&](std::int64_t at) -> std::int32_t {
      const std::int64_t place = element_place(at, in.shape, in.layout);
      return (x.is_signed ? in.as<std::int8_t>()[place] : in.as<std::uint8_t>()[place]) -
             x.zero_point;
    };
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::int64_t channel = i / inner % weights.outputs;
      const auto m = static_cast<std::size_t>(channel);
      results[element_place(i, out.shape, out.layout)] =
          std::fma(static_cast<float>(sum(weights, level, i, channel)), x.scale * weights.scales[m],
                   weights.bias[m]);
    }
    post_ops.apply(context.inputs(), results, 0, elements);
    for (std::int64_t i = 0; i < elements; ++i) {
      if (out.type == DataType::qint8)
        out.as_mutable<std::uint8_t>()[i] = requantize(results[i]);
      else
        out.as_mutable<float>()[i] = results[i];
    }
  });
}

// What else their routines are.
inline RoutineFunctions naive_quantized(MakeKernel make) {
  RoutineFunctions functions = quantized_layer();
  functions.create = make;
  return functions;
}

}  // namespace softneuro
