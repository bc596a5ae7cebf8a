// dense cpu/naive: the specification. y = x · w + bias, summed in double, integers in int64.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

template <class Sum>
void multiply(const Context& context, bool transposed) noexcept {
  const TensorView& x = context.input(0);
  const TensorView& w = context.input(1);
  const std::int64_t depth = w.shape[transposed ? 1 : 0];
  const std::int64_t columns = w.shape[transposed ? 0 : 1];
  const std::int64_t rows = x.shape.elements(0, x.shape.rank() - 1);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < columns; ++j) {
      if (context.pool().cancelled()) return;
      Sum sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum = multiply_add(sum, load_as<Sum>(x, r * depth + k),
                           load_as<Sum>(w, transposed ? j * depth + k : k * columns + j));
      if (context.has_input(2)) sum = multiply_add(sum, load_as<Sum>(context.input(2), j), Sum{1});
      store_as(context.output(0), r * columns + j, sum);
    }
}

Result<std::unique_ptr<Kernel>> make_naive_dense(const Problem& problem) {
  const bool transposed = problem.params.integer("transpose_weights") != 0;
  const auto run = is_float(problem.inputs[0].type) ? multiply<double> : multiply<std::int64_t>;
  return make_function_kernel([=](Context& context) { run(context, transposed); });
}

}  // namespace

Status register_routine_dense_cpu_naive(Registry& registry) {
  return add_naive(registry, {"dense"}, make_naive_dense);
}

}  // namespace softneuro
