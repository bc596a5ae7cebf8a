// eye_like cpu/naive: y[i, j] = 1 where j − i = k, else 0.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveEyeLikeKernel final : public Kernel {
 public:
  explicit NaiveEyeLikeKernel(const Problem& problem) : k_(problem.params.integer("k")) {}
  Status run(Context& context) const noexcept override {
    const TensorView& y = context.output(0);
    for (std::int64_t i = 0; i < y.shape[0]; ++i)
      for (std::int64_t j = 0; j < y.shape[1]; ++j)
        store(y, i * y.shape[1] + j, j - i == k_ ? 1 : 0);
    return {};
  }

 private:
  std::int64_t k_;
};

}  // namespace

Status register_routine_eye_like_cpu_naive(Registry& registry) {
  return add_naive<NaiveEyeLikeKernel>(registry, {"eye_like"});
}

}  // namespace softneuro
