// split cpu/naive: each output is a block of columns of the input, seen as a matrix whose rows are
// the dimensions before the axis.
#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "cpu/tensor/memory_order.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/moves.h"
#include "routines/naive_routine.h"

namespace softneuro {

Result<std::unique_ptr<Kernel>> make_split_move(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"), x.rank()));
  // Size of each part on the axis; there may be more than outputs.
  std::vector<std::int64_t> parts = problem.integers(1);
  if (!problem.has_input(1)) {
    const std::int64_t declared = problem.params.integer("num_outputs");
    const auto count = declared != 0 ? declared : static_cast<std::int64_t>(problem.outputs.size());
    const std::int64_t part = x[axis] / count + (x[axis] % count != 0);
    parts.assign(static_cast<std::size_t>(count), part);
    parts.back() = x[axis] - part * (count - 1);
  }
  const Layout layout = problem.inputs[0].layout;
  const Shape stored = stored_shape(x, layout);
  const int stored_at = stored_axis(axis, x.rank(), layout);
  const std::int64_t rows = stored.elements(0, stored_at);
  const std::int64_t dim = stored[stored_at];
  const std::int64_t inner = stored.elements(stored_at + 1, stored.rank());
  return make_function_kernel([=](Context& context) {
    const TensorView& source = context.input(0);
    std::int64_t column = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::int64_t columns = parts[i] * inner;
      if (context.has_output(i)) {
        StridedCopy copy;
        copy.add_axis(rows, dim * inner, columns);
        copy.add_axis(columns, 1, 1);
        copy.set_offsets(column, 0);
        copy.run(source.data, context.output(i).data, size_of(source.type), context.pool());
      }
      column += columns;
    }
  });
}

Status register_routine_split_cpu_naive(Registry& registry) {
  return add_naive(registry, {"split"}, make_split_move);
}

}  // namespace softneuro
