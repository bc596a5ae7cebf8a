// split cpu/naive: each output is a block of columns of the input, seen as a matrix whose rows are
// the dimensions before the axis.
#include "core/registry.h"
#include "core/strided_copy.h"

namespace softneuro {
namespace {

class NaiveSplitKernel final : public Kernel {
 public:
  // `parts`: size of each part on the axis; there may be more than outputs.
  NaiveSplitKernel(int axis, std::vector<std::int64_t> parts)
      : axis_(axis), parts_(std::move(parts)) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const std::int64_t rows = x.shape.elements(0, axis_);
    const std::int64_t inner = x.shape.elements(axis_ + 1, x.shape.rank());
    std::int64_t column = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::int64_t columns = parts_[i] * inner;
      if (context.has_output(i)) {
        StridedCopy copy;
        copy.add_axis(rows, x.shape[axis_] * inner, columns);
        copy.add_axis(columns, 1, 1);
        copy.set_offsets(column, 0);
        copy.run(x.data, context.output(i).data, size_of(x.type), context.pool());
      }
      column += columns;
    }
    return {};
  }

 private:
  int axis_;
  std::vector<std::int64_t> parts_;
};

class NaiveSplit final : public Routine {
 public:
  NaiveSplit() : Routine("split", "cpu/naive") {}
  Applicability applicable(const Problem&) const override { return Applicability::yes(); }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const Shape& x = problem.inputs[0].shape;
    SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"), x.rank()));
    std::vector<std::int64_t> parts = problem.integers(1);
    if (!problem.has_input(1)) {
      const std::int64_t declared = problem.params.integer("num_outputs");
      const auto count =
          declared != 0 ? declared : static_cast<std::int64_t>(problem.outputs.size());
      const std::int64_t part = x[axis] / count + (x[axis] % count != 0);
      parts.assign(static_cast<std::size_t>(count), part);
      parts.back() = x[axis] - part * (count - 1);
    }
    return std::unique_ptr<Kernel>(std::make_unique<NaiveSplitKernel>(axis, std::move(parts)));
  }
};

}  // namespace

Status register_routine_split_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveSplit>());
}

}  // namespace softneuro
