// channel_shuffle cpu/naive: [N, groups, C/groups, S] becomes [N, C/groups, groups, S].
#include "routines/moves.h"
#include "routines/naive_routine.h"

namespace softneuro {

Result<std::unique_ptr<Kernel>> make_channel_shuffle_move(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  const std::int64_t groups = problem.params.integer("groups");
  const std::int64_t members = x[1] / groups;
  const std::int64_t inner = x.elements(2, x.rank());
  StridedCopy copy;
  copy.add_axis(x[0], x[1] * inner, x[1] * inner);
  copy.add_axis(members, inner, groups * inner);
  copy.add_axis(groups, members * inner, inner);
  copy.add_axis(inner, 1, 1);
  return make_copy_kernel(copy);
}

Status register_routine_channel_shuffle_cpu_naive(Registry& registry) {
  return add_naive(registry, {"channel_shuffle"}, make_channel_shuffle_move);
}

}  // namespace softneuro
