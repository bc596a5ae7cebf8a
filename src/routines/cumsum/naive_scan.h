// What cumsum and cum_prod cpu/naive share: a running result along one axis.
#pragma once

#include "core/base/element.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {

// Of floats in double, of integers in int64. Operation::kStart is the result over no elements,
// Operation::apply(result, element) the next result.
template <class Operation>
class NaiveScanKernel final : public Kernel {
 public:
  NaiveScanKernel(int axis, bool exclusive, bool reverse)
      : axis_(axis), exclusive_(exclusive), reverse_(reverse) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    for_rows(x.shape, axis_, [&](std::int64_t first, std::int64_t step) {
      if (is_float(x.type))
        scan_row<double>(x, context.output(0), first, step);
      else
        scan_row<std::int64_t>(x, context.output(0), first, step);
    });
    return {};
  }

 private:
  template <class Value>
  void scan_row(const TensorView& x, const TensorView& y, std::int64_t first,
                std::int64_t step) const noexcept {
    const std::int64_t count = x.shape[axis_];
    Value result = Operation::kStart;
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t at = first + (reverse_ ? count - 1 - n : n) * step;
      const Value before = result;
      result = Operation::apply(result, load_as<Value>(x, at));
      store_as<Value>(y, at, exclusive_ ? before : result);
    }
  }

  int axis_;
  bool exclusive_, reverse_;
};

template <class Operation>
Result<std::unique_ptr<Kernel>> make_naive_scan(const Problem& problem) {
  const std::vector<std::int64_t> axes = problem.integers(1);
  if (axes.size() != 1)
    return invalid_argument("input 1 (axis) must have one element, not {}", axes.size());
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(axes[0], problem.inputs[0].shape.rank()));
  return make_kernel<NaiveScanKernel<Operation>>(axis, problem.params.integer("exclusive") != 0,
                                                 problem.params.integer("reverse") != 0);
}

}  // namespace softneuro
