// arg_reduce cpu/naive: the specification. NaN beats every number, as in numpy.
#include "cpu/tensor/compare_elements.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveArgReduceKernel final : public Kernel {
 public:
  NaiveArgReduceKernel(const Problem& problem, int axis)
      : axis_(axis),
        largest_(problem.params.text("op") == "max"),
        last_(problem.params.integer("select_last_index") != 0) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    auto* y = context.output(0).as_mutable<std::int64_t>();
    const std::int64_t count = x.shape[axis_];
    for_rows(x.shape, axis_, [&](std::int64_t first, std::int64_t step) {
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < count; ++k)
        if (beats(x, first + k * step, first + best * step)) best = k;
      *y++ = best;
    });
    return {};
  }

 private:
  // Element i is chosen rather than j, which comes before it.
  bool beats(const TensorView& x, std::int64_t i, std::int64_t j) const noexcept {
    const bool is_nan = is_float(x.type) && std::isnan(load(x, i));
    if (is_float(x.type) && is_nan != std::isnan(load(x, j))) return is_nan;
    const int order = compare_elements(x, i, j);
    return order == 0 ? last_ : (order > 0) == largest_;
  }

  int axis_;
  bool largest_, last_;
};

}  // namespace

Status register_routine_arg_reduce_cpu_naive(Registry& registry) {
  return add_naive(registry, {"arg_reduce"}, make_along_axis<NaiveArgReduceKernel>);
}

}  // namespace softneuro
