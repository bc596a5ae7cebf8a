// dequantize cpu/naive: the specification. y = (x − zero_point) · scale.
#include "core/base/element.h"
#include "routines/naive_routine.h"
#include "routines/quantize/scale_index.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_dequantize(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ScaleIndex index, ScaleIndex::of(problem));
  return make_function_kernel([=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::int64_t count = x.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t s = index.at(i);
      const double zero_point = context.has_input(2) ? load(context.input(2), s) : 0;
      store(y, i, (load(x, i) - zero_point) * load(context.input(1), s));
    }
  });
}

}  // namespace

Status register_routine_dequantize_cpu_naive(Registry& registry) {
  return add_naive(registry, {"dequantize"}, make_naive_dequantize);
}

}  // namespace softneuro
