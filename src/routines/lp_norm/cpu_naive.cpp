// lp_norm cpu/naive: the specification. x / ‖x‖p along one axis; 0 where the norm is 0.
#include "core/base/element.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_lp_norm(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  const bool euclidean = problem.params.integer("p") == 2;
  return make_function_kernel({.in_place_input = 0}, [=](Context& context) {
    const TensorView& x = context.input(0);
    const std::int64_t count = x.shape[axis];
    for_rows(x.shape, axis, [&](std::int64_t first, std::int64_t step) {
      double norm = 0;
      for (std::int64_t k = 0; k < count; ++k) {
        const double value = load(x, first + k * step);
        norm += euclidean ? value * value : std::fabs(value);
      }
      if (euclidean) norm = std::sqrt(norm);
      for (std::int64_t k = 0; k < count; ++k)
        store(context.output(0), first + k * step,
              norm == 0 ? 0 : load(x, first + k * step) / norm);
    });
  });
}

}  // namespace

Status register_routine_lp_norm_cpu_naive(Registry& registry) {
  return add_naive(registry, {"lp_norm"}, make_naive_lp_norm);
}

}  // namespace softneuro
