// tile cpu/naive: each axis of the output is two, the repetition and that of the input.
#include "cpu/tensor/memory_order.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/moves.h"
#include "routines/naive_routine.h"

namespace softneuro {

Result<std::unique_ptr<Kernel>> make_tile_move(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  const Shape source = layout_strides(x, problem.inputs[0].layout);
  const Shape target = layout_strides(problem.outputs[0].shape, problem.outputs[0].layout);
  const std::vector<std::int64_t> repeats = problem.integers(1);
  std::vector<StridedCopy::Axis> axes;
  for (int i = 0; i < x.rank(); ++i) {
    axes.push_back({repeats[static_cast<std::size_t>(i)], 0, target[i] * x[i]});
    axes.push_back({x[i], source[i], target[i]});
  }
  StridedCopy copy;
  copy.add_axes(axes);
  return make_copy_kernel(copy);
}

Status register_routine_tile_cpu_naive(Registry& registry) {
  return add_naive(registry, {"tile"}, make_tile_move);
}

}  // namespace softneuro
