// size cpu/naive: the number of elements of x.
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_size(const Problem&) {
  return make_function_kernel([](Context& context) {
    *context.output(0).as_mutable<std::int64_t>() = context.input(0).elements();
  });
}

}  // namespace

Status register_routine_size_cpu_naive(Registry& registry) {
  return add_naive(registry, {"size"}, make_naive_size);
}

}  // namespace softneuro
