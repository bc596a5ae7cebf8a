// matmul cpu/naive: the specification. Sums in double, integers in int64.
#include "core/base/element.h"
#include "routines/matmul/geometry.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveMatmulKernel final : public Kernel {
 public:
  explicit NaiveMatmulKernel(const Problem& problem) : g_(matmul_geometry(problem)) {}

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
    std::int64_t index = 0;
    const std::int64_t batches = g_.batches();
    for (std::int64_t n = 0; n < batches; ++n)
      for (std::int64_t i = 0; i < g_.rows; ++i)
        for (std::int64_t j = 0; j < g_.columns; ++j) {
          if (context.pool().cancelled()) return;
          const std::int64_t a = g_.a_offset(n) + i * g_.a_row;
          const std::int64_t b = g_.b_offset(n) + j * g_.b_column;
          Sum sum = 0;
          for (std::int64_t k = 0; k < g_.depth; ++k)
            sum = multiply_add(sum, load_as<Sum>(context.input(0), a + k * g_.a_column),
                               load_as<Sum>(context.input(1), b + k * g_.b_row));
          store_as(context.output(0), index++, sum);
        }
  }

  MatmulGeometry g_;
};

}  // namespace

Status register_routine_matmul_cpu_naive(Registry& registry) {
  return add_naive<NaiveMatmulKernel>(registry, {"matmul"});
}

}  // namespace softneuro
