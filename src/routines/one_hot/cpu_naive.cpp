// one_hot cpu/naive: off everywhere, then on at the place that each index names.
#include <cmath>
#include <cstring>

#include "core/base/element.h"
#include "cpu/tensor/indexing.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/naive_routine.h"
#include "routines/typed_constants.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_one_hot(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, normalize_axis(problem.params.integer("axis"),
                                                     problem.outputs[0].shape.rank()));
  SN_ASSIGN_OR_RETURN(TypedConstants constants, TypedConstants::create(problem));
  return make_function_kernel([=](Context& context) {
    const TensorView& indices = context.input(0);
    const TensorView& y = context.output(0);
    const auto bytes = static_cast<std::int64_t>(size_of(y.type));
    const std::byte* off = constants.input(context, 2).as<std::byte>();
    const std::byte* on = off + bytes;
    fill_elements(off, y.data, y.elements(), size_of(y.type), context.pool());

    const std::int64_t depth = y.shape[axis];
    const std::int64_t inner = y.shape.elements(axis + 1, y.shape.rank());
    const std::int64_t count = indices.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      const double rough = load(indices, i);
      if (!(std::fabs(rough) < 0x1p62)) continue;  // beyond any axis, and no integer
      const std::int64_t index = load_integer(indices, i);
      if (!is_index(index, depth)) continue;
      const std::int64_t at = (i / inner * depth + wrap_index(index, depth)) * inner + i % inner;
      std::memcpy(y.as_mutable<std::byte>() + at * bytes, on, static_cast<std::size_t>(bytes));
    }
  });
}

}  // namespace

Status register_routine_one_hot_cpu_naive(Registry& registry) {
  return add_naive(registry, {"one_hot"}, make_naive_one_hot);
}

}  // namespace softneuro
