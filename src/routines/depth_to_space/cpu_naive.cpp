// depth_to_space cpu/naive: the output as [N, C, H, block, W, block], each axis a stride of x.
#include "core/element.h"
#include "core/registry.h"
#include "core/strided_copy.h"

namespace softneuro {
namespace {

class NaiveDepthToSpace final : public Routine {
 public:
  NaiveDepthToSpace() : Routine("depth_to_space", "cpu/naive") {}
  Applicability applicable(const Problem&) const override { return Applicability::yes(); }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const std::int64_t block = problem.params.integer("block");
    const bool crd = problem.params.text("mode") == "crd";
    const Shape& x = problem.inputs[0].shape;
    const Shape source = strides_of(x);
    const Shape target = strides_of(problem.outputs[0].shape);
    const std::int64_t channels = problem.outputs[0].shape[1];
    // Channels of x between neighbouring output channels, and neighbouring columns of a patch.
    const std::int64_t channel_step = crd ? block * block : 1;
    const std::int64_t patch_step = crd ? 1 : channels;
    StridedCopy copy;
    copy.add_axis(x[0], source[0], target[0]);
    copy.add_axis(channels, channel_step * source[1], target[1]);
    copy.add_axis(x[2], source[2], block * target[2]);
    copy.add_axis(block, block * patch_step * source[1], target[2]);
    copy.add_axis(x[3], source[3], block * target[3]);
    copy.add_axis(block, patch_step * source[1], target[3]);
    return make_copy_kernel(copy);
  }
};

}  // namespace

Status register_routine_depth_to_space_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveDepthToSpace>());
}

}  // namespace softneuro
