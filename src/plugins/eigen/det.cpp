// det cpu/eigen: Eigen's LU decomposition with partial pivoting, in double.
#include <algorithm>

#include "core/base/parallel.h"
#include "core/routine/function_routine.h"
#include "plugins/eigen/ops.h"
#include "plugins/eigen/routines.h"

namespace softneuro::eigen {
namespace {

constexpr std::int64_t kAligned = 8;  // doubles

// Each chunk of the matrices has memory of its own.
class DetKernel final : public Kernel {
 public:
  DetKernel(std::int64_t n, std::int64_t chunks) : n_(n), chunks_(chunks) {}

  std::size_t workspace_bytes() const noexcept override {
    return static_cast<std::size_t>(chunks_ * chunk_elements()) * sizeof(double);
  }

  Status run(Context& context) const noexcept override {
    const float* const x = context.input(0).as<float>();
    float* const y = context.output(0).as_mutable<float>();
    const std::int64_t count = context.output(0).elements();
    parallel_for(context.pool(), chunks_, [&](std::int64_t chunk) {
      double* const matrix =
          reinterpret_cast<double*>(context.workspace()) + chunk * chunk_elements();
      int* const swaps = reinterpret_cast<int*>(matrix + matrix_elements());
      for (std::int64_t m = count * chunk / chunks_; m < count * (chunk + 1) / chunks_; ++m)
        y[m] = static_cast<float>(eigen_ops().determinant(x + m * n_ * n_, n_, matrix, swaps));
    });
    return {};
  }

 private:
  std::int64_t matrix_elements() const noexcept {
    return (n_ * n_ + kAligned - 1) / kAligned * kAligned;
  }
  // With n ints behind the matrix.
  std::int64_t chunk_elements() const noexcept {
    return matrix_elements() + (n_ + kAligned - 1) / kAligned * kAligned;
  }

  std::int64_t n_, chunks_;
};

Applicability applicable(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  if (problem.inputs[0].type != DataType::float32) return Applicability::no("needs float32");
  if (x.elements() == 0) return Applicability::no("there is nothing to compute");
  if (x[x.rank() - 1] > kLargestEigenMatrix)
    return Applicability::no("the library would take memory from the heap while running");
  return Applicability::yes();
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineContext& context,
                                       const PackedWeights&) {
  constexpr std::int64_t kWork = 1 << 14;  // multiplications that are worth a thread's while
  const Shape& x = problem.inputs[0].shape;
  const std::int64_t n = x[x.rank() - 1], count = problem.outputs[0].shape.elements();
  const std::int64_t chunks = std::clamp<std::int64_t>(
      count * n * n * n / 3 / kWork, 1, std::min<std::int64_t>(count, context.threads()));
  return make_kernel<DetKernel>(n, chunks);
}

}  // namespace

Status register_det(Registry& registry) {
  // Plans that are not tuned go without.
  return add_routines(registry, {"det"}, {"cpu"}, "eigen",
                      {.facts = {.default_rank = -1, .library = library_name()},
                       .applicable = applicable,
                       .create_with = create});
}

}  // namespace softneuro::eigen
