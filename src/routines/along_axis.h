// What routines share that go along one axis of input 0, the parameter `axis`.
#pragma once

#include "core/routine/routine.h"
#include "routines/typed_constants.h"

namespace softneuro {

inline Result<int> axis_of(const Problem& problem) {
  return normalize_axis(problem.params.integer("axis"), problem.inputs[0].shape.rank());
}

// f(first, step) for each row along `axis`, in the order of memory: element n of the row is element
// first + n · step of the tensor.
template <class F>
void for_rows(const Shape& shape, int axis, F&& f) {
  const std::int64_t outer = shape.elements(0, axis);
  const std::int64_t step = shape.elements(axis + 1, shape.rank());
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < step; ++i) f(o * shape[axis] * step + i, step);
}

}  // namespace softneuro
