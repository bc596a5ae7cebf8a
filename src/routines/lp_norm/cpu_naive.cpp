// lp_norm cpu/naive: the specification. x / ‖x‖p along one axis; 0 where the norm is 0.
#include "core/base/element.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveLpNormKernel final : public Kernel {
 public:
  NaiveLpNormKernel(const Problem& problem, int axis)
      : axis_(axis), euclidean_(problem.params.integer("p") == 2) {}
  int in_place_input() const noexcept override { return 0; }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const std::int64_t count = x.shape[axis_];
    for_rows(x.shape, axis_, [&](std::int64_t first, std::int64_t step) {
      double norm = 0;
      for (std::int64_t k = 0; k < count; ++k) {
        const double value = load(x, first + k * step);
        norm += euclidean_ ? value * value : std::fabs(value);
      }
      if (euclidean_) norm = std::sqrt(norm);
      for (std::int64_t k = 0; k < count; ++k)
        store(context.output(0), first + k * step,
              norm == 0 ? 0 : load(x, first + k * step) / norm);
    });
    return {};
  }

 private:
  int axis_;
  bool euclidean_;
};

}  // namespace

Status register_routine_lp_norm_cpu_naive(Registry& registry) {
  return add_naive(registry, {"lp_norm"}, make_along_axis<NaiveLpNormKernel>);
}

}  // namespace softneuro
