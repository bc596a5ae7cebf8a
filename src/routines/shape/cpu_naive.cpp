// shape cpu/naive: y[i] = x.shape[first + i].
#include "core/layers/shape.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveShapeKernel final : public Kernel {
 public:
  explicit NaiveShapeKernel(const Problem& problem)
      : first_(shape_axes(problem.params, problem.inputs[0].shape.rank()).first) {}
  Status run(Context& context) const noexcept override {
    const TensorView& y = context.output(0);
    for (int i = 0; i < y.shape[0]; ++i)
      y.as_mutable<std::int64_t>()[i] = context.input(0).shape[first_ + i];
    return {};
  }

 private:
  int first_;
};

}  // namespace

Status register_routine_shape_cpu_naive(Registry& registry) {
  return add_naive<NaiveShapeKernel>(registry, {"shape"});
}

}  // namespace softneuro
