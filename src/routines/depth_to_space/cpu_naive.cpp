// depth_to_space cpu/naive: the output as [N, C, H, block, W, block], each axis a stride of x.
#include "cpu/tensor/memory_order.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/moves.h"
#include "routines/naive_routine.h"

namespace softneuro {

Result<std::unique_ptr<Kernel>> make_depth_to_space_move(const Problem& problem) {
  const std::int64_t block = problem.params.integer("block");
  const bool crd = problem.params.text("mode") == "crd";
  const Shape& x = problem.inputs[0].shape;
  const Shape source = layout_strides(x, problem.inputs[0].layout);
  const Shape target = layout_strides(problem.outputs[0].shape, problem.outputs[0].layout);
  const std::int64_t channels = problem.outputs[0].shape[1];
  // Channels of x between neighbouring output channels, and neighbouring columns of a patch.
  const std::int64_t channel_step = crd ? block * block : 1;
  const std::int64_t patch_step = crd ? 1 : channels;
  std::vector<StridedCopy::Axis> axes;
  axes.push_back({x[0], source[0], target[0]});
  axes.push_back({channels, channel_step * source[1], target[1]});
  axes.push_back({x[2], source[2], block * target[2]});
  axes.push_back({block, block * patch_step * source[1], target[2]});
  axes.push_back({x[3], source[3], block * target[3]});
  axes.push_back({block, patch_step * source[1], target[3]});
  StridedCopy copy;
  copy.add_axes(axes);
  return make_copy_kernel(copy);
}

Status register_routine_depth_to_space_cpu_naive(Registry& registry) {
  return add_naive(registry, {"depth_to_space"}, make_depth_to_space_move);
}

}  // namespace softneuro
