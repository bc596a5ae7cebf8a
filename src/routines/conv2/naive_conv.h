// What the naive convolutions share: all output elements, one after the other.
#pragma once

#include "core/base/element.h"
#include "core/routine/routine.h"
#include "routines/conv2/geometry.h"

namespace softneuro {

// In double, integers in int64, which wraps. WindowSum::sum<Sum>(geometry, context, n, m, position)
// is Σ x·w for the output element at `position` of the spatial axes together, of channel m of image
// n.
template <class WindowSum>
Result<std::unique_ptr<Kernel>> make_naive_conv(const Problem& problem, const ConvGeometry& g) {
  const auto convolve = [=](Context& context, auto zero) {
    using Sum = decltype(zero);
    std::int64_t index = 0;
    for (std::int64_t n = 0; n < g.batch; ++n)
      for (std::int64_t m = 0; m < g.channels_out(); ++m)
        for (std::int64_t position = 0; position < g.window.output_elements(); ++position) {
          if (context.pool().cancelled()) return;
          const Sum bias = g.bias ? load_as<Sum>(context.input(2), m) : zero;
          const Sum sum = WindowSum::template sum<Sum>(g, context, n, m, position);
          store_as(context.output(0), index++, multiply_add(bias, sum, Sum{1}));
        }
  };
  if (is_float(problem.inputs[0].type))
    return make_function_kernel([=](Context& context) { convolve(context, 0.0); });
  return make_function_kernel([=](Context& context) { convolve(context, std::int64_t{0}); });
}

}  // namespace softneuro
