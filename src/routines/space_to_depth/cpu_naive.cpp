// space_to_depth cpu/naive: the output as [N, block, block, C, H, W], each axis a stride of x.
#include "core/element.h"
#include "core/registry.h"
#include "core/strided_copy.h"

namespace softneuro {
namespace {

class NaiveSpaceToDepth final : public Routine {
 public:
  NaiveSpaceToDepth() : Routine("space_to_depth", "cpu/naive") {}
  Applicability applicable(const Problem&) const override { return Applicability::yes(); }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const std::int64_t block = problem.params.integer("block");
    const Shape& x = problem.inputs[0].shape;
    const Shape& y = problem.outputs[0].shape;
    const Shape source = strides_of(x);
    const Shape target = strides_of(y);
    StridedCopy copy;
    copy.add_axis(x[0], source[0], target[0]);
    copy.add_axis(block, source[2], block * x[1] * target[1]);
    copy.add_axis(block, source[3], x[1] * target[1]);
    copy.add_axis(x[1], source[1], target[1]);
    copy.add_axis(y[2], block * source[2], target[2]);
    copy.add_axis(y[3], block * source[3], target[3]);
    return make_copy_kernel(copy);
  }
};

}  // namespace

Status register_routine_space_to_depth_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveSpaceToDepth>());
}

}  // namespace softneuro
