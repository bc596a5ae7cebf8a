#include "routines/transpose/axes.h"

#include "core/element.h"
#include "core/layers/transpose.h"

namespace softneuro {

Result<StridedCopy> transpose_copy(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(const std::vector<int> order, transpose_order(problem.params, x.rank()));
  const Shape source = strides_of(x);
  const Shape target = strides_of(problem.outputs[0].shape);
  StridedCopy copy;
  for (int i = 0; i < x.rank(); ++i) {
    const int axis = order[static_cast<std::size_t>(i)];
    copy.add_axis(x[axis], source[axis], target[i]);
  }
  return copy;
}

}  // namespace softneuro
