// lp_norm cpu/naive: the specification. x / ‖x‖p along one axis; 0 where the norm is 0.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveLpNormKernel final : public Kernel {
 public:
  NaiveLpNormKernel(int axis, bool euclidean) : axis_(axis), euclidean_(euclidean) {}
  int in_place_input() const noexcept override { return 0; }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const std::int64_t outer = x.shape.elements(0, axis_);
    const std::int64_t count = x.shape[axis_];
    const std::int64_t inner = x.shape.elements(axis_ + 1, x.shape.rank());
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t base = o * count * inner + i;
        double norm = 0;
        for (std::int64_t k = 0; k < count; ++k) {
          const double value = load(x, base + k * inner);
          norm += euclidean_ ? value * value : std::fabs(value);
        }
        if (euclidean_) norm = std::sqrt(norm);
        for (std::int64_t k = 0; k < count; ++k)
          store(context.output(0), base + k * inner,
                norm == 0 ? 0 : load(x, base + k * inner) / norm);
      }
    return {};
  }

 private:
  int axis_;
  bool euclidean_;
};

Result<std::unique_ptr<Kernel>> make_naive_lp_norm(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"),
                                                     problem.inputs[0].shape.rank()));
  return make_kernel<NaiveLpNormKernel>(axis, problem.params.integer("p") == 2);
}

}  // namespace

Status register_routine_lp_norm_cpu_naive(Registry& registry) {
  return add_naive(registry, {"lp_norm"}, make_naive_lp_norm);
}

}  // namespace softneuro
