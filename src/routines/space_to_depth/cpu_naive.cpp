// space_to_depth cpu/naive: the output as [N, block, block, C, H, W], each axis a stride of x.
#include "core/routine/registry.h"
#include "routines/space_to_depth/move.h"

namespace softneuro {
namespace {

class NaiveSpaceToDepth final : public Routine {
 public:
  NaiveSpaceToDepth() : Routine("space_to_depth", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    return make_space_to_depth_move(problem);
  }
};

}  // namespace

Status register_routine_space_to_depth_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveSpaceToDepth>());
}

}  // namespace softneuro
