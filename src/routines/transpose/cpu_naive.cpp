// transpose cpu/naive: walks the output in order and fetches each element of the input.
#include "core/layers/transpose.h"
#include "cpu/tensor/memory_order.h"
#include "routines/moves.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_transpose(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const StridedCopy copy, transpose_copy(problem));
  return make_copy_kernel(copy);
}

}  // namespace

Result<StridedCopy> transpose_copy(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  const TensorSpec& y = problem.outputs[0];
  SN_ASSIGN_OR_RETURN(const std::vector<int> order, transpose_order(problem.params, x.rank()));
  const Shape source = layout_strides(x, problem.inputs[0].layout);
  const Shape target = layout_strides(y.shape, y.layout);
  std::vector<StridedCopy::Axis> axes;
  for (int i = 0; i < x.rank(); ++i) {
    const int axis = order[static_cast<std::size_t>(i)];
    axes.push_back({x[axis], source[axis], target[i]});
  }
  StridedCopy copy;
  copy.add_axes(axes);
  return copy;
}

Status register_routine_transpose_cpu_naive(Registry& registry) {
  return add_naive(registry, {"transpose"}, make_naive_transpose);
}

}  // namespace softneuro
