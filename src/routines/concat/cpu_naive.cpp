// concat cpu/naive: each input is a block of columns of the output, seen as a matrix whose rows are
// the dimensions before the axis.
#include "cpu/tensor/strided_copy.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_concat(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  SN_ASSIGN_OR_RETURN(const TypedConstants constants, TypedConstants::create(problem));
  return make_function_kernel([=](Context& context) {
    const TensorView& y = context.output(0);
    const std::int64_t rows = y.shape.elements(0, axis);
    const std::int64_t y_columns = y.shape.elements(axis, y.shape.rank());
    std::int64_t column = 0;
    for (std::size_t i = 0; i < context.input_count(); ++i) {
      const TensorView x = constants.input(context, i);
      const std::int64_t columns = x.shape.elements(axis, x.shape.rank());
      StridedCopy copy;
      copy.add_axis(rows, columns, y_columns);
      copy.add_axis(columns, 1, 1);
      copy.set_offsets(0, column);
      copy.run(x.data, y.data, size_of(y.type), context.pool());
      column += columns;
    }
  });
}

}  // namespace

Status register_routine_concat_cpu_naive(Registry& registry) {
  return add_naive(registry, {"concat"}, make_naive_concat);
}

}  // namespace softneuro
