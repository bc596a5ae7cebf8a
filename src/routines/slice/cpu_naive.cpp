// slice cpu/naive: the output is read from the input with other strides, from the first index on.
#include "core/routine/registry.h"
#include "routines/slice/move.h"

namespace softneuro {
namespace {

class NaiveSlice final : public Routine {
 public:
  NaiveSlice() : Routine("slice", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    return make_slice_move(problem);
  }
};

}  // namespace

Status register_routine_slice_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveSlice>());
}

}  // namespace softneuro
