// lp_pool1, lp_pool2, lp_pool3 cpu/naive: the specification. (Σ |x|^p)^(1/p) in double.
#include "core/base/element.h"
#include "core/layers/window.h"
#include "routines/add_each.h"

namespace softneuro {
namespace {

class NaiveLpPoolKernel final : public Kernel {
 public:
  NaiveLpPoolKernel(const Window& window, std::int64_t planes, double p)
      : window_(window), planes_(planes), p_(p) {}

  Status run(Context& context) const noexcept override {
    const auto& [az, ay, ax] = window_.axes;
    std::int64_t index = 0;
    for (std::int64_t plane = 0; plane < planes_; ++plane)
      for (std::int64_t z = 0; z < az.output; ++z)
        for (std::int64_t y = 0; y < ay.output; ++y)
          for (std::int64_t x = 0; x < ax.output && !context.pool().cancelled(); ++x)
            store(context.output(0), index++, norm(context.input(0), plane, z, y, x));
    return {};
  }

 private:
  double norm(const TensorView& input, std::int64_t plane, std::int64_t z, std::int64_t y,
              std::int64_t x) const noexcept {
    const auto& [az, ay, ax] = window_.axes;
    double sum = 0;
    for (std::int64_t kz = 0; kz < az.kernel; ++kz)
      for (std::int64_t ky = 0; ky < ay.kernel; ++ky)
        for (std::int64_t kx = 0; kx < ax.kernel; ++kx) {
          const std::int64_t iz = z * az.stride + kz * az.dilation - az.pad_begin;
          const std::int64_t iy = y * ay.stride + ky * ay.dilation - ay.pad_begin;
          const std::int64_t ix = x * ax.stride + kx * ax.dilation - ax.pad_begin;
          if (iz < 0 || iz >= az.input || iy < 0 || iy >= ay.input || ix < 0 || ix >= ax.input)
            continue;
          const std::int64_t at = ((plane * az.input + iz) * ay.input + iy) * ax.input + ix;
          sum += std::pow(std::fabs(load(input, at)), p_);
        }
    return std::pow(sum, 1 / p_);
  }

  Window window_;
  std::int64_t planes_;
  double p_;
};

class NaiveLpPool final : public Routine {
 public:
  explicit NaiveLpPool(const char* layer_type) : Routine(layer_type, "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, const RoutineParams&,
                                         const PackedWeights&) const override {
    const Shape& x = problem.inputs[0].shape;
    SN_ASSIGN_OR_RETURN(const Window window,
                        make_window(problem.params, x, problem.params.integers("kernel")));
    return make_kernel<NaiveLpPoolKernel>(window, x.elements(0, 2),
                                          static_cast<double>(problem.params.integer("p")));
  }
};

}  // namespace

Status register_routine_lp_pool2_cpu_naive(Registry& registry) {
  return add_each<NaiveLpPool>(registry, {"lp_pool1", "lp_pool2", "lp_pool3"});
}

}  // namespace softneuro
