// max_unpool cpu/naive: the specification. Elements are moved, whatever their type.
#include "core/base/element.h"
#include "core/layers/window.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveMaxUnpoolKernel final : public Kernel {
 public:
  // `natural` is the shape that the indices refer to.
  explicit NaiveMaxUnpoolKernel(const Shape& natural) : natural_(natural) {}

  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::size_t size = size_of(x.type);
    std::memset(y.data, 0, static_cast<std::size_t>(y.elements()) * size);
    const std::int64_t count = x.elements();
    const std::int64_t range = natural_.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = load_integer(context.input(1), i);
      if (index < 0 || index >= range) return out_of_range(i, index, range - 1);
      const std::int64_t to = place(index, y.shape);
      if (to < 0) return out_of_range(i, index, range - 1);
      std::memcpy(y.as_mutable<std::byte>() + static_cast<std::size_t>(to) * size,
                  x.as<std::byte>() + static_cast<std::size_t>(i) * size, size);
    }
    return {};
  }

 private:
  // Where element `index` of the natural shape lies in the output; −1: outside of it.
  std::int64_t place(std::int64_t index, const Shape& output) const noexcept {
    std::int64_t to = 0, step = 1;
    for (int i = natural_.rank() - 1; i >= 0; --i) {
      const std::int64_t at = index % natural_[i];
      if (at >= output[i]) return -1;
      to += at * step;
      step *= output[i];
      index /= natural_[i];
    }
    return to;
  }

  static Status out_of_range(std::int64_t i, std::int64_t index, std::int64_t last) noexcept {
    return invalid_argument("indices[{}] is {}, outside of the output or of [0, {}]", i, index,
                            last);
  }

  Shape natural_;
};

Result<std::unique_ptr<Kernel>> make_naive_max_unpool(const Problem& problem) {
  Shape natural = problem.inputs[0].shape;
  SN_ASSIGN_OR_RETURN(
      const Window window,
      make_transposed_window(problem.params, natural, problem.params.integers("kernel")));
  const int axes = natural.rank() - 2;
  for (int i = 0; i < axes; ++i)
    natural[i + 2] = window.axes[static_cast<std::size_t>(kMaxSpatialAxes - axes + i)].output;
  return make_kernel<NaiveMaxUnpoolKernel>(natural);
}

}  // namespace

Status register_routine_max_unpool_cpu_naive(Registry& registry) {
  return add_naive(registry, {"max_unpool"}, make_naive_max_unpool);
}

}  // namespace softneuro
