// batch_norm cpu/naive: the specification. (x − mean) / sqrt(var + epsilon) · scale + bias.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_batch_norm(const Problem& problem) {
  const double epsilon = problem.params.real("epsilon");
  return make_function_kernel({.in_place_input = 0}, [=](Context& context) {
    const TensorView& x = context.input(0);
    const int rank = x.shape.rank();
    const std::int64_t channels = rank < 2 ? 1 : x.shape[1];
    const std::int64_t inner = rank < 2 ? 1 : x.shape.elements(2, rank);
    const std::int64_t count = x.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t c = i / inner % channels;
      const double centred = load(x, i) - load(context.input(3), c);
      const double normal = centred / std::sqrt(load(context.input(4), c) + epsilon);
      store(context.output(0), i, normal * load(context.input(1), c) + load(context.input(2), c));
    }
  });
}

}  // namespace

Status register_routine_batch_norm_cpu_naive(Registry& registry) {
  return add_naive(registry, {"batch_norm"}, make_naive_batch_norm);
}

}  // namespace softneuro
