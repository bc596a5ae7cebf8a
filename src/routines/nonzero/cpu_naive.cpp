// nonzero cpu/naive: counts, then writes each index tuple as a column.
#include "core/base/element.h"
#include "cpu/tensor/indexing.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_nonzero(const Problem&) {
  return make_function_kernel([](Context& context) -> Status {
    const TensorView& x = context.input(0);
    const std::int64_t elements = x.elements();
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < elements; ++i) count += load(x, i) != 0;
    SN_RETURN_IF_ERROR(context.allocate_output(0, Shape{x.shape.rank(), count}));
    if (count == 0) return {};

    auto* y = context.output(0).as_mutable<std::int64_t>();
    Shape index = index_at(0, x.shape);
    std::int64_t column = 0;
    for (std::int64_t i = 0; i < elements; ++i) {
      if (load(x, i) != 0) {
        for (int axis = 0; axis < index.rank(); ++axis) y[axis * count + column] = index[axis];
        ++column;
      }
      next_index(index, x.shape);
    }
    return {};
  });
}

}  // namespace

Status register_routine_nonzero_cpu_naive(Registry& registry) {
  return add_naive(registry, {"nonzero"}, make_naive_nonzero);
}

}  // namespace softneuro
