// range cpu/naive: y[i] = start + i · delta; real types in double, integers exactly.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// Unsigned: the product alone may leave int64, the sum does not.
std::int64_t stepped(std::int64_t start, std::int64_t i, std::int64_t delta) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                   static_cast<std::uint64_t>(i) *
                                       static_cast<std::uint64_t>(delta));
}

Result<std::unique_ptr<Kernel>> make_naive_range(const Problem&) {
  return make_function_kernel([](Context& context) {
    const TensorView& start = context.input(0);
    const TensorView& delta = context.input(2);
    const TensorView& y = context.output(0);
    const bool reals = is_float(y.type);
    for (std::int64_t i = 0; i < y.shape[0]; ++i)
      if (reals)
        store(y, i, load(start, 0) + static_cast<double>(i) * load(delta, 0));
      else
        store_integer(y, i, stepped(load_integer(start, 0), i, load_integer(delta, 0)));
  });
}

}  // namespace

Status register_routine_range_cpu_naive(Registry& registry) {
  return add_naive(registry, {"range"}, make_naive_range);
}

}  // namespace softneuro
