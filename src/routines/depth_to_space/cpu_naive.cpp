// depth_to_space cpu/naive: the output as [N, C, H, block, W, block], each axis a stride of x.
#include "core/routine/registry.h"
#include "routines/depth_to_space/move.h"

namespace softneuro {
namespace {

class NaiveDepthToSpace final : public Routine {
 public:
  NaiveDepthToSpace() : Routine("depth_to_space", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    return make_depth_to_space_move(problem);
  }
};

}  // namespace

Status register_routine_depth_to_space_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveDepthToSpace>());
}

}  // namespace softneuro
