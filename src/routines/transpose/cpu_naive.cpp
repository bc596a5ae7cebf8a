// transpose cpu/naive: walks the output in order and fetches each element of the input.
#include "core/routine/registry.h"
#include "routines/transpose/axes.h"

namespace softneuro {
namespace {

class NaiveTranspose final : public Routine {
 public:
  NaiveTranspose() : Routine("transpose", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    SN_ASSIGN_OR_RETURN(const StridedCopy copy, transpose_copy(problem));
    return make_copy_kernel(copy);
  }
};

}  // namespace

Status register_routine_transpose_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveTranspose>());
}

}  // namespace softneuro
