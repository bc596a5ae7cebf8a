// matmul cpu/naive: the specification. Sums in double, integers in int64.
#include "core/base/element.h"
#include "cpu/gemm/matmul_geometry.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

template <class Sum>
void multiply(const Context& context, const MatmulGeometry& g) noexcept {
  std::int64_t index = 0;
  const std::int64_t batches = g.batches();
  for (std::int64_t n = 0; n < batches; ++n)
    for (std::int64_t i = 0; i < g.rows; ++i)
      for (std::int64_t j = 0; j < g.columns; ++j) {
        if (context.pool().cancelled()) return;
        const std::int64_t a = g.a_offset(n) + i * g.a_row;
        const std::int64_t b = g.b_offset(n) + j * g.b_column;
        Sum sum = 0;
        for (std::int64_t k = 0; k < g.depth; ++k)
          sum = multiply_add(sum, load_as<Sum>(context.input(0), a + k * g.a_column),
                             load_as<Sum>(context.input(1), b + k * g.b_row));
        store_as(context.output(0), index++, sum);
      }
}

Result<std::unique_ptr<Kernel>> make_naive_matmul(const Problem& problem) {
  const MatmulGeometry g = matmul_geometry(problem);
  const auto run = is_float(problem.inputs[0].type) ? multiply<double> : multiply<std::int64_t>;
  return make_function_kernel([=](Context& context) { run(context, g); });
}

}  // namespace

Status register_routine_matmul_cpu_naive(Registry& registry) {
  return add_naive(registry, {"matmul"}, make_naive_matmul);
}

}  // namespace softneuro
