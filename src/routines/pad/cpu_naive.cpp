// pad cpu/naive: what stays of x is copied into place; each other element asks where on x it lies.
#include "core/routine/registry.h"
#include "routines/pad/move.h"

namespace softneuro {
namespace {

class NaivePad final : public Routine {
 public:
  NaivePad() : Routine("pad", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    return make_pad_move(problem);
  }
};

}  // namespace

Status register_routine_pad_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaivePad>());
}

}  // namespace softneuro
