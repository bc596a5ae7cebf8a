// concat cpu/naive: each input is a block of columns of the output, seen as a matrix whose rows are
// the dimensions before the axis.
#include "cpu/tensor/strided_copy.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveConcatKernel final : public Kernel {
 public:
  NaiveConcatKernel(int axis, TypedConstants constants)
      : axis_(axis), constants_(std::move(constants)) {}

  Status run(Context& context) const noexcept override {
    const TensorView& y = context.output(0);
    const std::int64_t rows = y.shape.elements(0, axis_);
    const std::int64_t y_columns = y.shape.elements(axis_, y.shape.rank());
    std::int64_t column = 0;
    for (std::size_t i = 0; i < context.input_count(); ++i) {
      const TensorView x = constants_.input(context, i);
      const std::int64_t columns = x.shape.elements(axis_, x.shape.rank());
      StridedCopy copy;
      copy.add_axis(rows, columns, y_columns);
      copy.add_axis(columns, 1, 1);
      copy.set_offsets(0, column);
      copy.run(x.data, y.data, size_of(y.type), context.pool());
      column += columns;
    }
    return {};
  }

 private:
  int axis_;
  TypedConstants constants_;
};

}  // namespace

Status register_routine_concat_cpu_naive(Registry& registry) {
  return add_naive(registry, {"concat"}, make_along_axis<NaiveConcatKernel>);
}

}  // namespace softneuro
