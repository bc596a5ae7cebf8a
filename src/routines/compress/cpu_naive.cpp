// compress cpu/naive: x seen as [outer, axis, inner]; copies the inner runs that are wanted.
#include <algorithm>
#include <cstring>
#include <limits>

#include "routines/naive_routine.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_compress(const Problem& problem) {
  int given_axis = -1;  // x is flattened
  const std::int64_t given = problem.params.integer("axis");
  if (given != std::numeric_limits<std::int64_t>::min()) {
    SN_ASSIGN_OR_RETURN(given_axis, normalize_axis(given, problem.inputs[0].shape.rank()));
  }
  return make_function_kernel([=](Context& context) -> Status {
    const TensorView& x = context.input(0);
    const TensorView& condition = context.input(1);
    const auto* wanted = condition.as<std::uint8_t>();
    Shape shape = given_axis < 0 ? Shape{x.elements()} : x.shape;
    const int axis = std::max(given_axis, 0);
    const std::int64_t dim = shape[axis];
    for (std::int64_t i = dim; i < condition.elements(); ++i)
      if (wanted[i])
        return invalid_argument("condition[{}] is true, but the axis has {} elements", i, dim);
    const std::int64_t known = std::min(dim, condition.elements());
    const std::int64_t outer = shape.elements(0, axis);
    const std::int64_t run =
        shape.elements(axis + 1, shape.rank()) * static_cast<std::int64_t>(size_of(x.type));
    shape[axis] = known - std::count(wanted, wanted + known, 0);
    SN_RETURN_IF_ERROR(context.allocate_output(0, shape));
    if (shape.elements() == 0) return {};

    auto* y = context.output(0).as_mutable<std::byte>();
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < known; ++i) {
        if (!wanted[i]) continue;
        std::memcpy(y, x.as<std::byte>() + (o * dim + i) * run, static_cast<std::size_t>(run));
        y += run;
      }
    return {};
  });
}

}  // namespace

Status register_routine_compress_cpu_naive(Registry& registry) {
  return add_naive(registry, {"compress"}, make_naive_compress);
}

}  // namespace softneuro
