// where cpu/naive: y = condition ? x : y. Moves bytes, so any data type will do.
#include <cstring>

#include "core/base/element.h"
#include "routines/naive_routine.h"
#include "routines/typed_constants.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_where(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(TypedConstants constants, TypedConstants::create(problem));
  return make_function_kernel([=](Context& context) {
    const TensorView& condition = context.input(0);
    const TensorView& output = context.output(0);
    if (output.elements() == 0) return;
    const std::size_t size = size_of(output.type);
    const Shape strides[3] = {broadcast_strides(condition.shape, output.shape),
                              broadcast_strides(context.input(1).shape, output.shape),
                              broadcast_strides(context.input(2).shape, output.shape)};
    Shape index = output.shape;
    for (int d = 0; d < index.rank(); ++d) index[d] = 0;
    std::byte* target = output.as_mutable<std::byte>();
    do {
      const std::size_t chosen =
          condition.as<std::uint8_t>()[offset_of(index, strides[0])] != 0 ? 1 : 2;
      const auto offset = static_cast<std::size_t>(offset_of(index, strides[chosen]));
      std::memcpy(target, constants.input(context, chosen).as<std::byte>() + offset * size, size);
      target += size;
    } while (next_index(index, output.shape));
  });
}

}  // namespace

Status register_routine_where_cpu_naive(Registry& registry) {
  return add_naive(registry, {"where"}, make_naive_where);
}

}  // namespace softneuro
