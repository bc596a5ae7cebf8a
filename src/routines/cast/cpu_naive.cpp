// cast cpu/naive: the specification. Real → integer truncates and saturates, integer → integer
// wraps, everything → real rounds to nearest even, everything → boolean is x ≠ 0.
#include "core/base/element.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

// One integer, all 64 bits of it, rounded once.
void store_wide(const TensorView& y, std::int64_t i, std::int64_t value, bool is_unsigned) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (y.type == DataType::float32)
    y.as_mutable<float>()[i] = is_unsigned ? static_cast<float>(bits) : static_cast<float>(value);
  else if (is_float(y.type))
    store(y, i, is_unsigned ? static_cast<double>(bits) : static_cast<double>(value));
  else
    store_integer(y, i, value);
}

Result<std::unique_ptr<Kernel>> make_naive_cast(const Problem& problem) {
  const bool in_place = size_of(problem.inputs[0].type) == size_of(problem.outputs[0].type);
  return make_function_kernel({.in_place_input = in_place ? 0 : -1}, [=](Context& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const std::int64_t count = x.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      if (is_float(x.type))
        store(y, i, load(x, i));
      else
        store_wide(y, i, load_integer(x, i), x.type == DataType::uint64);
    }
  });
}

}  // namespace

Status register_routine_cast_cpu_naive(Registry& registry) {
  return add_naive(registry, {"cast"}, make_naive_cast);
}

}  // namespace softneuro
