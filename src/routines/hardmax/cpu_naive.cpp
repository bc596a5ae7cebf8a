// hardmax cpu/naive: the specification. 1 at the first largest element, 0 elsewhere.
#include "core/base/element.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_hardmax(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  return make_function_kernel([=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::int64_t count = x.shape[axis];
    for_rows(x.shape, axis, [&](std::int64_t first, std::int64_t step) {
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < count; ++k)
        if (load(x, first + k * step) > load(x, first + best * step)) best = k;
      for (std::int64_t k = 0; k < count; ++k) store(y, first + k * step, k == best);
    });
  });
}

}  // namespace

Status register_routine_hardmax_cpu_naive(Registry& registry) {
  return add_naive(registry, {"hardmax"}, make_naive_hardmax);
}

}  // namespace softneuro
