// slice cpu/naive: the output is read from the input with other strides, from the first index on.
#include "core/element.h"
#include "core/layers/slice.h"
#include "core/registry.h"
#include "core/strided_copy.h"

namespace softneuro {
namespace {

std::optional<std::vector<std::int64_t>> optional_integers(const Problem& problem, std::size_t i) {
  return problem.has_input(i) ? std::optional(problem.integers(i)) : std::nullopt;
}

class NaiveSlice final : public Routine {
 public:
  NaiveSlice() : Routine("slice", "cpu/naive") {}
  Applicability applicable(const Problem&) const override { return Applicability::yes(); }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const Shape& x = problem.inputs[0].shape;
    SN_ASSIGN_OR_RETURN(const std::vector<SliceSpan> spans,
                        slice_spans(x.rank(), problem.integers(1), problem.integers(2),
                                    optional_integers(problem, 3), optional_integers(problem, 4)));
    const Shape source = strides_of(x);
    const Shape target = strides_of(problem.outputs[0].shape);
    StridedCopy copy;
    std::int64_t offset = 0;
    for (int i = 0; i < x.rank(); ++i) {
      const SliceSpan& span = spans[static_cast<std::size_t>(i)];
      const SliceRange range = slice_range(span, x[i]);
      offset += range.first * source[i];
      // A step is only taken, and only then known to be short, where there are two indices.
      copy.add_axis(range.count, range.count > 1 ? span.step * source[i] : 0, target[i]);
    }
    copy.set_offsets(offset, 0);
    return make_copy_kernel(copy);
  }
};

}  // namespace

Status register_routine_slice_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveSlice>());
}

}  // namespace softneuro
