// dense cpu/naive: the specification. y = x · w + bias, summed in double, integers in int64.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveDenseKernel final : public Kernel {
 public:
  explicit NaiveDenseKernel(const Problem& problem)
      : transposed_(problem.params.integer("transpose_weights") != 0) {}

  Status run(Context& context) const noexcept override {
    if (is_float(context.input(0).type))
      multiply<double>(context);
    else
      multiply<std::int64_t>(context);
    return {};
  }

 private:
  template <class Sum>
  void multiply(Context& context) const noexcept {
    const TensorView& x = context.input(0);
    const TensorView& w = context.input(1);
    const std::int64_t depth = w.shape[transposed_ ? 1 : 0];
    const std::int64_t columns = w.shape[transposed_ ? 0 : 1];
    const std::int64_t rows = x.shape.elements(0, x.shape.rank() - 1);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < columns; ++j) {
        if (context.pool().cancelled()) return;
        Sum sum = 0;
        for (std::int64_t k = 0; k < depth; ++k)
          sum = multiply_add(sum, load_as<Sum>(x, r * depth + k),
                             load_as<Sum>(w, transposed_ ? j * depth + k : k * columns + j));
        if (context.has_input(2))
          sum = multiply_add(sum, load_as<Sum>(context.input(2), j), Sum{1});
        store_as(context.output(0), r * columns + j, sum);
      }
  }

  bool transposed_;
};

}  // namespace

Status register_routine_dense_cpu_naive(Registry& registry) {
  return add_naive<NaiveDenseKernel>(registry, {"dense"});
}

}  // namespace softneuro
