// group_norm and instance_norm cpu/naive: the specification. Groups of consecutive channels of one
// image are brought to mean 0 and variance 1; instance_norm has one channel per group.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_group_norm(const Problem& problem) {
  const double epsilon = problem.params.real("epsilon");
  const std::int64_t groups = problem.params.integer("groups");
  return make_function_kernel({.in_place_input = 0}, [=](Context& context) {
    const TensorView& x = context.input(0);
    const std::int64_t channels = x.shape[1];
    const std::int64_t inner = x.shape.elements(2, x.shape.rank());
    const std::int64_t group = groups == 0 ? 1 : channels / groups;
    const std::int64_t count = group * inner;
    const std::int64_t total = x.elements();
    for (std::int64_t begin = 0; begin < total; begin += count) {
      double mean = 0, variance = 0;
      for (std::int64_t i = begin; i < begin + count; ++i) mean += load(x, i);
      mean /= static_cast<double>(count);
      for (std::int64_t i = begin; i < begin + count; ++i)
        variance += (load(x, i) - mean) * (load(x, i) - mean);
      variance /= static_cast<double>(count);
      for (std::int64_t i = begin; i < begin + count; ++i) {
        const std::int64_t c = i / inner % channels;
        const double normal = (load(x, i) - mean) / std::sqrt(variance + epsilon);
        store(context.output(0), i, normal * load(context.input(1), c) + load(context.input(2), c));
      }
    }
  });
}

}  // namespace

Status register_routine_group_norm_cpu_naive(Registry& registry) {
  return add_naive(registry, {"group_norm", "instance_norm"}, make_naive_group_norm);
}

}  // namespace softneuro
