// tile cpu/naive: each axis of the output is two, the repetition and the input's own.
#include "core/routine/registry.h"
#include "routines/tile/move.h"

namespace softneuro {
namespace {

class NaiveTile final : public Routine {
 public:
  NaiveTile() : Routine("tile", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    return make_tile_move(problem);
  }
};

}  // namespace

Status register_routine_tile_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveTile>());
}

}  // namespace softneuro
