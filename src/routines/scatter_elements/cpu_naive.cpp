// scatter_elements cpu/naive: copies x, then writes the updates one by one, in order.
#include "core/base/element.h"
#include "core/graph/enum_param.h"
#include "cpu/tensor/indexing.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"
#include "routines/scatter_elements/update.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_scatter_elements(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  SN_ASSIGN_OR_RETURN(const int choice, choice_of(problem.params, "reduction", kScatterReductions));
  SN_ASSIGN_OR_RETURN(TypedConstants constants, TypedConstants::create(problem));
  const auto reduction = static_cast<ScatterReduction>(choice);
  return make_function_kernel({.in_place_input = 0}, [=](Context& context) -> Status {
    const TensorView x = constants.input(context, 0);
    const TensorView& y = context.output(0);
    const TensorView updates = constants.input(context, 2);
    const std::int64_t dim = x.shape[axis];
    SN_RETURN_IF_ERROR(check_indices(context.input(1), dim));
    copy_bytes(x.data, y.data, x.elements() * static_cast<std::int64_t>(size_of(x.type)),
               context.pool());

    const IndexReader indices(context.input(1));
    const Shape strides = strides_of(x.shape);
    const std::int64_t count = updates.elements();
    if (count == 0) return {};
    Shape place = index_at(0, updates.shape);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at =
          offset_of(place, strides) + (wrap_index(indices[i], dim) - place[axis]) * strides[axis];
      scatter_element(reduction, y, at, updates, i);
      next_index(place, updates.shape);
    }
    return {};
  });
}

}  // namespace

Status register_routine_scatter_elements_cpu_naive(Registry& registry) {
  return add_naive(registry, {"scatter_elements"}, make_naive_scatter_elements);
}

}  // namespace softneuro
