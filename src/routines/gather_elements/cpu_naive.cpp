// gather_elements cpu/naive: each output element's own place, with the index put in on the axis.
#include <cstring>

#include "core/base/element.h"
#include "core/base/parallel.h"
#include "cpu/tensor/indexing.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

constexpr std::int64_t kGrain = 4096;  // elements

Result<std::unique_ptr<Kernel>> make_naive_gather_elements(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  SN_ASSIGN_OR_RETURN(const TypedConstants constants, TypedConstants::create(problem));
  return make_function_kernel([=](Context& context) -> Status {
    const TensorView x = constants.input(context, 0);
    const TensorView& y = context.output(0);
    const std::int64_t dim = x.shape[axis];
    SN_RETURN_IF_ERROR(check_indices(context.input(1), dim));
    const IndexReader indices(context.input(1));
    const std::size_t bytes = size_of(x.type);
    const Shape strides = strides_of(x.shape);
    parallel_ranges(
        context.pool(), y.elements(), kGrain, [&](std::int64_t first, std::int64_t last) {
          Shape place = index_at(first, y.shape);
          for (std::int64_t i = first; i < last; ++i) {
            const std::int64_t from = offset_of(place, strides) +
                                      (wrap_index(indices[i], dim) - place[axis]) * strides[axis];
            std::memcpy(y.as_mutable<std::byte>() + i * static_cast<std::int64_t>(bytes),
                        x.as<std::byte>() + from * static_cast<std::int64_t>(bytes), bytes);
            next_index(place, y.shape);
          }
        });
    return {};
  });
}

}  // namespace

Status register_routine_gather_elements_cpu_naive(Registry& registry) {
  return add_naive(registry, {"gather_elements"}, make_naive_gather_elements);
}

}  // namespace softneuro
