// eye_like cpu/naive: y[i, j] = 1 where j − i = k, else 0.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_eye_like(const Problem& problem) {
  const std::int64_t k = problem.params.integer("k");
  return make_function_kernel([=](Context& context) {
    const TensorView& y = context.output(0);
    for (std::int64_t i = 0; i < y.shape[0]; ++i)
      for (std::int64_t j = 0; j < y.shape[1]; ++j)
        store(y, i * y.shape[1] + j, j - i == k ? 1 : 0);
  });
}

}  // namespace

Status register_routine_eye_like_cpu_naive(Registry& registry) {
  return add_naive(registry, {"eye_like"}, make_naive_eye_like);
}

}  // namespace softneuro
