// lp_pool1, lp_pool2, lp_pool3 cpu/naive: the specification. (Σ |x|^p)^(1/p) in double.
#include "core/base/element.h"
#include "routines/conv2/geometry.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_lp_pool(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const Window window, pool_window(problem.params, problem.inputs[0].shape));
  const std::int64_t planes = problem.inputs[0].shape.elements(0, 2);
  const auto p = static_cast<double>(problem.params.integer("p"));
  return make_function_kernel([=](Context& context) {
    const std::int64_t outputs = window.output_elements();
    for (std::int64_t i = 0; i < planes * outputs && !context.pool().cancelled(); ++i) {
      const std::int64_t plane = i / outputs * window.input_elements();
      double sum = 0;
      for_taps(window, i % outputs, [&](std::int64_t, std::int64_t at) {
        if (at >= 0) sum += std::pow(std::fabs(load(context.input(0), plane + at)), p);
      });
      store(context.output(0), i, std::pow(sum, 1 / p));
    }
  });
}

}  // namespace

Status register_routine_lp_pool2_cpu_naive(Registry& registry) {
  return add_naive(registry, {"lp_pool1", "lp_pool2", "lp_pool3"}, make_naive_lp_pool);
}

}  // namespace softneuro
