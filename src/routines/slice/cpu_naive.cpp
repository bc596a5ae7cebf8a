// slice cpu/naive: the output is read from the input with other strides, from the first index on.
#include "core/base/error.h"
#include "core/layers/slice.h"
#include "cpu/tensor/memory_order.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/moves.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

std::optional<std::vector<std::int64_t>> optional_integers(const Problem& problem, std::size_t i) {
  return problem.has_input(i) ? std::optional(problem.integers(i)) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_slice_move(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(const std::vector<SliceSpan> spans,
                      slice_spans(x.rank(), problem.integers(1), problem.integers(2),
                                  optional_integers(problem, 3), optional_integers(problem, 4)));
  const Shape source = layout_strides(x, problem.inputs[0].layout);
  const Shape target = layout_strides(problem.outputs[0].shape, problem.outputs[0].layout);
  std::vector<StridedCopy::Axis> axes;
  std::int64_t offset = 0;
  for (int i = 0; i < x.rank(); ++i) {
    const SliceSpan& span = spans[static_cast<std::size_t>(i)];
    const SliceRange range = slice_range(span, x[i]);
    offset += range.first * source[i];
    // A step is only taken, and only then known to be short, where there are two indices.
    axes.push_back({range.count, range.count > 1 ? span.step * source[i] : 0, target[i]});
  }
  StridedCopy copy;
  copy.add_axes(axes);
  copy.set_offsets(offset, 0);
  return make_copy_kernel(copy);
}

Status register_routine_slice_cpu_naive(Registry& registry) {
  return add_naive(registry, {"slice"}, make_slice_move);
}

}  // namespace softneuro
