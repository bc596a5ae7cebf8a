// expand cpu/naive: walks the output; broadcast axes stand still in the input.
#include "core/element.h"
#include "core/registry.h"
#include "core/strided_copy.h"

namespace softneuro {
namespace {

class NaiveExpand final : public Routine {
 public:
  NaiveExpand() : Routine("expand", "cpu/naive") {}
  Applicability applicable(const Problem&) const override { return Applicability::yes(); }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const Shape& y = problem.outputs[0].shape;
    const Shape source = broadcast_strides(problem.inputs[0].shape, y);
    const Shape target = strides_of(y);
    StridedCopy copy;
    for (int i = 0; i < y.rank(); ++i) copy.add_axis(y[i], source[i], target[i]);
    return make_copy_kernel(copy);
  }
};

}  // namespace

Status register_routine_expand_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveExpand>());
}

}  // namespace softneuro
