// batch_norm cpu/naive: the specification. (x − mean) / sqrt(var + epsilon) · scale + bias.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveBatchNormKernel final : public Kernel {
 public:
  explicit NaiveBatchNormKernel(const Problem& problem)
      : epsilon_(problem.params.real("epsilon")) {}
  int in_place_input() const noexcept override { return 0; }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const int rank = x.shape.rank();
    const std::int64_t channels = rank < 2 ? 1 : x.shape[1];
    const std::int64_t inner = rank < 2 ? 1 : x.shape.elements(2, rank);
    const std::int64_t count = x.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t c = i / inner % channels;
      const double centred = load(x, i) - load(context.input(3), c);
      const double normal = centred / std::sqrt(load(context.input(4), c) + epsilon_);
      store(context.output(0), i, normal * load(context.input(1), c) + load(context.input(2), c));
    }
    return {};
  }

 private:
  double epsilon_;
};

}  // namespace

Status register_routine_batch_norm_cpu_naive(Registry& registry) {
  return add_naive<NaiveBatchNormKernel>(registry, {"batch_norm"});
}

}  // namespace softneuro
