// shape cpu/naive: y[i] = x.shape[first + i].
#include "core/layers/shape.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_shape(const Problem& problem) {
  const int first = shape_axes(problem.params, problem.inputs[0].shape.rank()).first;
  return make_function_kernel([=](Context& context) {
    const TensorView& y = context.output(0);
    for (int i = 0; i < y.shape[0]; ++i)
      y.as_mutable<std::int64_t>()[i] = context.input(0).shape[first + i];
  });
}

}  // namespace

Status register_routine_shape_cpu_naive(Registry& registry) {
  return add_naive(registry, {"shape"}, make_naive_shape);
}

}  // namespace softneuro
