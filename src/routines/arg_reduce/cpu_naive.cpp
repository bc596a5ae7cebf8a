// arg_reduce cpu/naive: the specification. NaN beats every number, as in numpy.
#include "cpu/tensor/compare_elements.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_arg_reduce(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  const bool largest = problem.params.text("op") == "max";
  const bool last = problem.params.integer("select_last_index") != 0;
  // Element i is chosen rather than j, which comes before it.
  const auto beats = [=](const TensorView& x, std::int64_t i, std::int64_t j) {
    const bool is_nan = is_float(x.type) && std::isnan(load(x, i));
    if (is_float(x.type) && is_nan != std::isnan(load(x, j))) return is_nan;
    const int order = compare_elements(x, i, j);
    return order == 0 ? last : (order > 0) == largest;
  };
  return make_function_kernel([=](Context& context) {
    const TensorView& x = context.input(0);
    auto* y = context.output(0).as_mutable<std::int64_t>();
    const std::int64_t count = x.shape[axis];
    for_rows(x.shape, axis, [&](std::int64_t first, std::int64_t step) {
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < count; ++k)
        if (beats(x, first + k * step, first + best * step)) best = k;
      *y++ = best;
    });
  });
}

}  // namespace

Status register_routine_arg_reduce_cpu_naive(Registry& registry) {
  return add_naive(registry, {"arg_reduce"}, make_naive_arg_reduce);
}

}  // namespace softneuro
