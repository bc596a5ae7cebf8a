// max_pool1, max_pool2, max_pool3 cpu/naive: the specification.
#include "core/base/element.h"
#include "routines/conv2/geometry.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// Where element `at` of a plane would be if the first axis were the fastest.
std::int64_t column_major(const Window& window, std::int64_t at) noexcept {
  const auto& [az, ay, ax] = window.axes;
  const std::int64_t z = at / (ay.input * ax.input), y = at / ax.input % ay.input;
  return (at % ax.input * ay.input + y) * az.input + z;
}

// The first largest element; NaN is larger than everything.
template <class Value>
void pool(const Context& context, const Window& window, std::int64_t to, bool by_column) noexcept {
  const std::int64_t plane = to / window.output_elements() * window.input_elements();
  const bool is_unsigned = context.input(0).type == DataType::uint64;
  Value best = 0;
  std::int64_t best_at = -1;
  for_taps(window, to % window.output_elements(), [&](std::int64_t, std::int64_t at) {
    if (at < 0) return;
    const Value value = load_as<Value>(context.input(0), plane + at);
    const bool larger = is_unsigned
                            ? static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(best)
                            : value > best || (value != value && best == best);
    if (best_at >= 0 && !larger) return;
    best = value;
    best_at = plane + (by_column ? column_major(window, at) : at);
  });
  // A window of padding only has no largest element: the type's smallest stands for it.
  if (best_at < 0)
    store(context.output(0), to, -INFINITY);
  else
    store_as(context.output(0), to, best);
  if (context.has_output(1)) store_integer(context.output(1), to, best_at);
}

Result<std::unique_ptr<Kernel>> make_naive_max_pool(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const Window window, pool_window(problem.params, problem.inputs[0].shape));
  const std::int64_t elements = problem.inputs[0].shape.elements(0, 2) * window.output_elements();
  const bool by_column = problem.params.integer("storage_order") != 0;
  return make_function_kernel([=](Context& context) {
    for (std::int64_t i = 0; i < elements && !context.pool().cancelled(); ++i) {
      if (is_float(context.input(0).type))
        pool<double>(context, window, i, by_column);
      else
        pool<std::int64_t>(context, window, i, by_column);
    }
  });
}

}  // namespace

Status register_routine_max_pool2_cpu_naive(Registry& registry) {
  return add_naive(registry, {"max_pool1", "max_pool2", "max_pool3"}, make_naive_max_pool);
}

}  // namespace softneuro
