// reshape, flatten, squeeze, unsqueeze and identity cpu/naive: the input's bytes as they are.
#include "routines/moves.h"
#include "routines/naive_routine.h"

namespace softneuro {
Result<std::unique_ptr<Kernel>> make_view_copy(const Problem&) {
  return make_function_kernel({.in_place_input = 0}, [](Context& context) {
    const TensorView& x = context.input(0);
    const auto bytes = static_cast<std::int64_t>(size_of(x.type)) * x.elements();
    copy_bytes(x.data, context.output(0).data, bytes, context.pool());
  });
}

Status register_routine_reshape_cpu_naive(Registry& registry) {
  return add_naive(registry, {"reshape", "flatten", "squeeze", "unsqueeze", "identity"},
                   make_view_copy);
}

}  // namespace softneuro
