// lp_pool1, lp_pool2, lp_pool3 cpu/naive: the specification. (Σ |x|^p)^(1/p) in double.
#include "core/base/element.h"
#include "routines/conv2/geometry.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveLpPoolKernel final : public Kernel {
 public:
  NaiveLpPoolKernel(const Window& window, std::int64_t planes, double p)
      : window_(window), planes_(planes), p_(p) {}

  Status run(Context& context) const noexcept override {
    const std::int64_t outputs = window_.output_elements();
    for (std::int64_t i = 0; i < planes_ * outputs && !context.pool().cancelled(); ++i)
      store(context.output(0), i, norm(context.input(0), i / outputs, i % outputs));
    return {};
  }

 private:
  double norm(const TensorView& input, std::int64_t plane, std::int64_t position) const noexcept {
    double sum = 0;
    for_taps(window_, position, [&](std::int64_t, std::int64_t at) {
      if (at >= 0)
        sum += std::pow(std::fabs(load(input, plane * window_.input_elements() + at)), p_);
    });
    return std::pow(sum, 1 / p_);
  }

  Window window_;
  std::int64_t planes_;
  double p_;
};

Result<std::unique_ptr<Kernel>> make_naive_lp_pool(const Problem& problem) {
  const Shape& x = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(const Window window,
                      make_window(problem.params, x, problem.params.integers("kernel")));
  return make_kernel<NaiveLpPoolKernel>(window, x.elements(0, 2),
                                        static_cast<double>(problem.params.integer("p")));
}

}  // namespace

Status register_routine_lp_pool2_cpu_naive(Registry& registry) {
  return add_naive(registry, {"lp_pool1", "lp_pool2", "lp_pool3"}, make_naive_lp_pool);
}

}  // namespace softneuro
