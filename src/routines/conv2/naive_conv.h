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
class NaiveConvKernel final : public Kernel {
 public:
  explicit NaiveConvKernel(const ConvGeometry& geometry) : g_(geometry) {}

  Status run(Context& context) const noexcept override {
    if (is_float(context.input(0).type))
      convolve<double>(context);
    else
      convolve<std::int64_t>(context);
    return {};
  }

 private:
  template <class Sum>
  void convolve(Context& context) const noexcept {
    std::int64_t index = 0;
    for (std::int64_t n = 0; n < g_.batch; ++n)
      for (std::int64_t m = 0; m < g_.channels_out(); ++m)
        for (std::int64_t position = 0; position < g_.window.output_elements(); ++position) {
          if (context.pool().cancelled()) return;
          const Sum bias = g_.bias ? load_as<Sum>(context.input(2), m) : Sum{0};
          const Sum sum = WindowSum::template sum<Sum>(g_, context, n, m, position);
          store_as(context.output(0), index++, multiply_add(bias, sum, Sum{1}));
        }
  }

  ConvGeometry g_;
};

}  // namespace softneuro
