// expand cpu/naive: walks the output; broadcast axes stand still in the input.
#include "core/base/element.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/moves.h"
#include "routines/naive_routine.h"

namespace softneuro {

Result<std::unique_ptr<Kernel>> make_expand_move(const Problem& problem) {
  const Shape& y = problem.outputs[0].shape;
  const Shape source = broadcast_strides(problem.inputs[0].shape, y);
  const Shape target = strides_of(y);
  StridedCopy copy;
  for (int i = 0; i < y.rank(); ++i) copy.add_axis(y[i], source[i], target[i]);
  return make_copy_kernel(copy);
}

Status register_routine_expand_cpu_naive(Registry& registry) {
  return add_naive(registry, {"expand"}, make_expand_move);
}

}  // namespace softneuro
