// group_norm and instance_norm cpu/naive: the specification. Groups of consecutive channels of one
// image are brought to mean 0 and variance 1; instance_norm has one channel per group.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveGroupNormKernel final : public Kernel {
 public:
  explicit NaiveGroupNormKernel(const Problem& problem)
      : epsilon_(problem.params.real("epsilon")), groups_(problem.params.integer("groups")) {}
  int in_place_input() const noexcept override { return 0; }

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const std::int64_t channels = x.shape[1];
    const std::int64_t inner = x.shape.elements(2, x.shape.rank());
    const std::int64_t group = groups_ == 0 ? 1 : channels / groups_;
    const std::int64_t count = group * inner;
    const std::int64_t total = x.elements();
    for (std::int64_t begin = 0; begin < total; begin += count) {
      double mean = 0, variance = 0;
      for (std::int64_t i = begin; i < begin + count; ++i) mean += load(x, i);
      mean /= static_cast<double>(count);
      for (std::int64_t i = begin; i < begin + count; ++i)
        variance += (load(x, i) - mean) * (load(x, i) - mean);
      variance /= static_cast<double>(count);
      for (std::int64_t i = begin; i < begin + count; ++i) {
        const std::int64_t c = i / inner % channels;
        const double normal = (load(x, i) - mean) / std::sqrt(variance + epsilon_);
        store(context.output(0), i, normal * load(context.input(1), c) + load(context.input(2), c));
      }
    }
    return {};
  }

 private:
  double epsilon_;
  std::int64_t groups_;  // 0: as many as channels
};

}  // namespace

Status register_routine_group_norm_cpu_naive(Registry& registry) {
  return add_naive<NaiveGroupNormKernel>(registry, {"group_norm", "instance_norm"});
}

}  // namespace softneuro
