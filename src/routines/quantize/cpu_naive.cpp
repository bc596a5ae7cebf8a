// quantize cpu/naive: the specification. y = saturate(round(x / scale) + zero_point), the quotient
// in float32 because its bits decide ties. NaN gives 0.
#include "core/base/element.h"
#include "core/base/level.h"
#include "routines/naive_routine.h"
#include "routines/quantize/scale_index.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_quantize(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const ScaleIndex index, ScaleIndex::of(problem));
  return make_function_kernel([=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::int64_t count = x.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t s = index.at(i);
      const float quotient =
          static_cast<float>(load(x, i)) / static_cast<float>(load(context.input(1), s));
      const std::int64_t zero_point = context.has_input(2) ? load_integer(context.input(2), s) : 0;
      store_integer(y, i,
                    std::isnan(quotient) ? 0
                                         : level_of(quotient, levels_of(y.type),
                                                    static_cast<std::int32_t>(zero_point)));
    }
  });
}

}  // namespace

Status register_routine_quantize_cpu_naive(Registry& registry) {
  return add_naive(registry, {"quantize"}, make_naive_quantize);
}

}  // namespace softneuro
