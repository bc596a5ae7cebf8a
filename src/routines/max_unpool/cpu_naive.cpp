// max_unpool cpu/naive: the specification. Elements are moved, whatever their type.
#include "core/base/element.h"
#include "core/layers/window.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// Where element `index` of the shape `natural` is in the output; −1: outside of it.
std::int64_t place(std::int64_t index, const Shape& natural, const Shape& output) noexcept {
  std::int64_t to = 0, step = 1;
  for (int i = natural.rank() - 1; i >= 0; --i) {
    const std::int64_t at = index % natural[i];
    if (at >= output[i]) return -1;
    to += at * step;
    step *= output[i];
    index /= natural[i];
  }
  return to;
}

Result<std::unique_ptr<Kernel>> make_naive_max_unpool(const Problem& problem) {
  Shape natural = problem.inputs[0].shape;  // that the indices refer to
  SN_ASSIGN_OR_RETURN(
      const Window window,
      make_transposed_window(problem.params, natural, problem.params.integers("kernel")));
  const int axes = natural.rank() - 2;
  for (int i = 0; i < axes; ++i)
    natural[i + 2] = window.axes[static_cast<std::size_t>(kMaxSpatialAxes - axes + i)].output;
  return make_function_kernel([=](Context& context) -> Status {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::size_t size = size_of(x.type);
    std::memset(y.data, 0, static_cast<std::size_t>(y.elements()) * size);
    const std::int64_t count = x.elements();
    const std::int64_t range = natural.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = load_integer(context.input(1), i);
      const std::int64_t to = index < 0 || index >= range ? -1 : place(index, natural, y.shape);
      if (to < 0)
        return invalid_argument("indices[{}] is {}, outside of the output or of [0, {}]", i, index,
                                range - 1);
      std::memcpy(y.as_mutable<std::byte>() + static_cast<std::size_t>(to) * size,
                  x.as<std::byte>() + static_cast<std::size_t>(i) * size, size);
    }
    return {};
  });
}

}  // namespace

Status register_routine_max_unpool_cpu_naive(Registry& registry) {
  return add_naive(registry, {"max_unpool"}, make_naive_max_unpool);
}

}  // namespace softneuro
