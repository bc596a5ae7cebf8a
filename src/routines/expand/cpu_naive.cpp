// expand cpu/naive: walks the output; broadcast axes stand still in the input.
#include "core/routine/registry.h"
#include "routines/expand/move.h"

namespace softneuro {
namespace {

class NaiveExpand final : public Routine {
 public:
  NaiveExpand() : Routine("expand", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    return make_expand_move(problem);
  }
};

}  // namespace

Status register_routine_expand_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveExpand>());
}

}  // namespace softneuro
