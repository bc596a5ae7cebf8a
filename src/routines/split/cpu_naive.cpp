// split cpu/naive: each output is a block of columns of the input, seen as a matrix whose rows are
// the dimensions before the axis.
#include "core/base/error.h"
#include "core/graph/layer_type.h"
#include "cpu/tensor/memory_order.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/moves.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class SplitKernel final : public Kernel {
 public:
  // `parts`: size of each part on the axis; there may be more than outputs.
  SplitKernel(const Shape& stored, int axis, std::vector<std::int64_t> parts)
      : rows_(stored.elements(0, axis)),
        dim_(stored[axis]),
        inner_(stored.elements(axis + 1, stored.rank())),
        parts_(std::move(parts)) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    std::int64_t column = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::int64_t columns = parts_[i] * inner_;
      if (context.has_output(i)) {
        StridedCopy copy;
        copy.add_axis(rows_, dim_ * inner_, columns);
        copy.add_axis(columns, 1, 1);
        copy.set_offsets(column, 0);
        copy.run(x.data, context.output(i).data, size_of(x.type), context.pool());
      }
      column += columns;
    }
    return {};
  }

 private:
  std::int64_t rows_, dim_, inner_;
  std::vector<std::int64_t> parts_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_split_move(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"), x.rank()));
  std::vector<std::int64_t> parts = problem.integers(1);
  if (!problem.has_input(1)) {
    const std::int64_t declared = problem.params.integer("num_outputs");
    const auto count = declared != 0 ? declared : static_cast<std::int64_t>(problem.outputs.size());
    const std::int64_t part = x[axis] / count + (x[axis] % count != 0);
    parts.assign(static_cast<std::size_t>(count), part);
    parts.back() = x[axis] - part * (count - 1);
  }
  const Layout layout = problem.inputs[0].layout;
  return make_kernel<SplitKernel>(stored_shape(x, layout), stored_axis(axis, x.rank(), layout),
                                  std::move(parts));
}

Status register_routine_split_cpu_naive(Registry& registry) {
  return add_naive(registry, {"split"}, make_split_move);
}

}  // namespace softneuro
