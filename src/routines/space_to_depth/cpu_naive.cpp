// space_to_depth cpu/naive: the output as [N, block, block, C, H, W], each axis a stride of x.
#include "cpu/tensor/memory_order.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/moves.h"
#include "routines/naive_routine.h"

namespace softneuro {

Result<std::unique_ptr<Kernel>> make_space_to_depth_move(const Problem& problem) {
  const std::int64_t block = problem.params.integer("block");
  const Shape& x = problem.inputs[0].shape;
  const Shape& y = problem.outputs[0].shape;
  const Shape source = layout_strides(x, problem.inputs[0].layout);
  const Shape target = layout_strides(y, problem.outputs[0].layout);
  std::vector<StridedCopy::Axis> axes;
  axes.push_back({x[0], source[0], target[0]});
  axes.push_back({block, source[2], block * x[1] * target[1]});
  axes.push_back({block, source[3], x[1] * target[1]});
  axes.push_back({x[1], source[1], target[1]});
  axes.push_back({y[2], block * source[2], target[2]});
  axes.push_back({y[3], block * source[3], target[3]});
  StridedCopy copy;
  copy.add_axes(axes);
  return make_copy_kernel(copy);
}

Status register_routine_space_to_depth_cpu_naive(Registry& registry) {
  return add_naive(registry, {"space_to_depth"}, make_space_to_depth_move);
}

}  // namespace softneuro
