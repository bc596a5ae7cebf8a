// What cumsum and cum_prod cpu/naive share: a running result along one axis.
#pragma once

#include "core/base/element.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {

// The kernel. Floats in double, integers in int64. Operation::kStart is the result over no
// elements, Operation::apply(result, element) the next result.
template <class Operation>
Result<std::unique_ptr<Kernel>> make_naive_scan(const Problem& problem) {
  const std::vector<std::int64_t> axes = problem.integers(1);
  if (axes.size() != 1)
    return invalid_argument("input 1 (axis) must have one element, not {}", axes.size());
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(axes[0], problem.inputs[0].shape.rank()));
  const bool exclusive = problem.params.integer("exclusive") != 0;
  const bool reverse = problem.params.integer("reverse") != 0;
  return make_function_kernel([=](Context& context) {
    const TensorView& x = context.input(0);
    const std::int64_t count = x.shape[axis];
    const auto scan = [&](auto result, std::int64_t first, std::int64_t step) {
      using Value = decltype(result);
      for (std::int64_t n = 0; n < count; ++n) {
        const std::int64_t at = first + (reverse ? count - 1 - n : n) * step;
        const Value before = result;
        result = Operation::apply(result, load_as<Value>(x, at));
        store_as<Value>(context.output(0), at, exclusive ? before : result);
      }
    };
    for_rows(x.shape, axis, [&](std::int64_t first, std::int64_t step) {
      if (is_float(x.type))
        scan(double{Operation::kStart}, first, step);
      else
        scan(std::int64_t{Operation::kStart}, first, step);
    });
  });
}

}  // namespace softneuro
