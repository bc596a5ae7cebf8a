// split cpu/naive: each output is a block of columns of the input, seen as a matrix whose rows are
// the dimensions before the axis.
#include "core/routine/registry.h"
#include "routines/split/move.h"

namespace softneuro {
namespace {

class NaiveSplit final : public Routine {
 public:
  NaiveSplit() : Routine("split", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    return make_split_move(problem);
  }
};

}  // namespace

Status register_routine_split_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveSplit>());
}

}  // namespace softneuro
