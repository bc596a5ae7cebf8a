// wgconv cpu/naive: the specification. Sums in double.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_wgconv(const Problem&) {
  return make_function_kernel([](Context& context) {
    const TensorView &v = context.input(0), &u = context.input(1);
    const Shape& y = context.output(0).shape;
    const std::int64_t channels = v.shape[1];
    std::int64_t index = 0;
    for (std::int64_t n = 0; n < y[0]; ++n)
      for (std::int64_t m = 0; m < y[1]; ++m)
        for (std::int64_t p = 0; p < y[2]; ++p)
          for (std::int64_t t = 0; t < y[3]; ++t) {
            double sum = 0;
            for (std::int64_t c = 0; c < channels; ++c)
              sum += load(u, (p * y[1] + m) * channels + c) *
                     load(v, ((n * channels + c) * y[2] + p) * y[3] + t);
            store(context.output(0), index++, sum);
          }
  });
}

}  // namespace

Status register_routine_wgconv_cpu_naive(Registry& registry) {
  return add_naive(registry, {"wgconv"}, make_naive_wgconv);
}

}  // namespace softneuro
