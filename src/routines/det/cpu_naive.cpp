// det cpu/naive: Gaussian elimination with partial pivoting, in double; the product of the pivots.
#include <cmath>
#include <utility>

#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// Destroys `a`, an n × n matrix.
double determinant(double* a, std::int64_t n) noexcept {
  double product = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (std::fabs(a[i * n + k]) > std::fabs(a[pivot * n + k])) pivot = i;
    if (a[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      for (std::int64_t j = k; j < n; ++j) std::swap(a[k * n + j], a[pivot * n + j]);
      product = -product;
    }
    product *= a[k * n + k];
    for (std::int64_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / a[k * n + k];
      for (std::int64_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return product;
}

Result<std::unique_ptr<Kernel>> make_naive_det(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  // Where there are no matrices, their size is not bounded by any tensor.
  const std::int64_t n =
      problem.outputs[0].shape.elements() > 0 ? shape[shape.rank() - 1] : std::int64_t{0};
  const std::size_t bytes = static_cast<std::size_t>(n * n) * sizeof(double);
  return make_function_kernel({.workspace_bytes = bytes}, [=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    auto* matrix = reinterpret_cast<double*>(context.workspace());
    const std::int64_t count = y.elements();
    for (std::int64_t m = 0; m < count; ++m) {
      for (std::int64_t i = 0; i < n * n; ++i) matrix[i] = load(x, m * n * n + i);
      store(y, m, determinant(matrix, n));
    }
  });
}

}  // namespace

Status register_routine_det_cpu_naive(Registry& registry) {
  return add_naive(registry, {"det"}, make_naive_det);
}

}  // namespace softneuro
