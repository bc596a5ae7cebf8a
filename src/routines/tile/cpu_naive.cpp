// tile cpu/naive: each axis of the output is two, the repetition and the input's own.
#include "core/element.h"
#include "core/registry.h"
#include "core/strided_copy.h"

namespace softneuro {
namespace {

class NaiveTile final : public Routine {
 public:
  NaiveTile() : Routine("tile", "cpu/naive") {}
  Applicability applicable(const Problem&) const override { return Applicability::yes(); }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const Shape& x = problem.inputs[0].shape;
    const Shape source = strides_of(x);
    const Shape target = strides_of(problem.outputs[0].shape);
    const std::vector<std::int64_t> repeats = problem.integers(1);
    StridedCopy copy;
    for (int i = 0; i < x.rank(); ++i) {
      copy.add_axis(repeats[static_cast<std::size_t>(i)], 0, target[i] * x[i]);
      copy.add_axis(x[i], source[i], target[i]);
    }
    return make_copy_kernel(copy);
  }
};

}  // namespace

Status register_routine_tile_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveTile>());
}

}  // namespace softneuro
