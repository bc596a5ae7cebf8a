// scatter_nd cpu/naive: copies x, then writes the updates slice by slice, in order.
#include "core/base/element.h"
#include "core/graph/enum_param.h"
#include "cpu/tensor/indexing.h"
#include "cpu/tensor/strided_copy.h"
#include "routines/naive_routine.h"
#include "routines/scatter_elements/update.h"
#include "routines/typed_constants.h"

namespace softneuro {
namespace {

// Called before anything is written: x may be y.
Status check_tuples(const TensorView& indices, const Shape& x) noexcept {
  const IndexReader reader(indices);
  const std::int64_t tuple = indices.shape[indices.shape.rank() - 1];
  const std::int64_t count = indices.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t dim = x[static_cast<int>(i % tuple)];
    if (!is_index(reader[i], dim)) return index_error(reader[i], i, dim);
  }
  return {};
}

Result<std::unique_ptr<Kernel>> make_naive_scatter_nd(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int choice, choice_of(problem.params, "reduction", kScatterReductions));
  SN_ASSIGN_OR_RETURN(TypedConstants constants, TypedConstants::create(problem));
  const auto reduction = static_cast<ScatterReduction>(choice);
  return make_function_kernel({.in_place_input = 0}, [=](Context& context) -> Status {
    const TensorView x = constants.input(context, 0);
    const TensorView& y = context.output(0);
    const TensorView updates = constants.input(context, 2);
    SN_RETURN_IF_ERROR(check_tuples(context.input(1), x.shape));
    copy_bytes(x.data, y.data, x.elements() * static_cast<std::int64_t>(size_of(x.type)),
               context.pool());
    if (updates.elements() == 0) return {};

    const IndexReader indices(context.input(1));
    const Shape& shape = context.input(1).shape;
    const auto tuple = static_cast<int>(shape[shape.rank() - 1]);
    const std::int64_t tuples = shape.elements(0, shape.rank() - 1);
    const std::int64_t slice = x.shape.elements(tuple, x.shape.rank());
    const Shape strides = strides_of(x.shape);
    for (std::int64_t t = 0; t < tuples; ++t) {
      std::int64_t at = 0;
      for (int i = 0; i < tuple; ++i)
        at += wrap_index(indices[t * tuple + i], x.shape[i]) * strides[i];
      for (std::int64_t i = 0; i < slice; ++i)
        scatter_element(reduction, y, at + i, updates, t * slice + i);
    }
    return {};
  });
}

}  // namespace

Status register_routine_scatter_nd_cpu_naive(Registry& registry) {
  return add_naive(registry, {"scatter_nd"}, make_naive_scatter_nd);
}

}  // namespace softneuro
