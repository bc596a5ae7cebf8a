// softmax cpu/naive: the specification. y = exp(x − max) / Σ exp(x − max), summed in double.
#include <cmath>

#include "core/base/element.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_softmax(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  const bool log = problem.params.integer("log") != 0;
  return make_function_kernel({.in_place_input = 0}, [=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::int64_t count = x.shape[axis];
    for_rows(x.shape, axis, [&](std::int64_t first, std::int64_t step) {
      double largest = -INFINITY;
      for (std::int64_t k = 0; k < count; ++k)
        largest = std::fmax(largest, load(x, first + k * step));
      double sum = 0;
      for (std::int64_t k = 0; k < count; ++k) sum += std::exp(load(x, first + k * step) - largest);
      for (std::int64_t k = 0; k < count; ++k) {
        const double shifted = load(x, first + k * step) - largest;
        store(y, first + k * step, log ? shifted - std::log(sum) : std::exp(shifted) / sum);
      }
    });
  });
}

}  // namespace

Status register_routine_softmax_cpu_naive(Registry& registry) {
  return add_naive(registry, {"softmax"}, make_naive_softmax);
}

}  // namespace softneuro
