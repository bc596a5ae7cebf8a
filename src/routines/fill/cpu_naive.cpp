// fill cpu/naive: every element is the value.
#include "cpu/tensor/strided_copy.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_fill(const Problem&) {
  return make_function_kernel([](Context& context) {
    const TensorView& y = context.output(0);
    fill_elements(context.input(1).data, y.data, y.elements(), size_of(y.type), context.pool());
  });
}

}  // namespace

Status register_routine_fill_cpu_naive(Registry& registry) {
  return add_naive(registry, {"fill"}, make_naive_fill);
}

}  // namespace softneuro
