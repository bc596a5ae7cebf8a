// gather_nd cpu/naive: each tuple of indices names a contiguous slice of x, which is copied.
#include <cstring>

#include "core/base/element.h"
#include "cpu/tensor/indexing.h"
#include "routines/naive_routine.h"
#include "routines/typed_constants.h"

namespace softneuro {
namespace {

Result<std::unique_ptr<Kernel>> make_naive_gather_nd(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(TypedConstants constants, TypedConstants::create(problem));
  const int batch = static_cast<int>(problem.params.integer("batch_dims"));
  return make_function_kernel([=](Context& context) -> Status {
    const TensorView x = constants.input(context, 0);
    const TensorView& y = context.output(0);
    if (y.elements() == 0) return {};
    const TensorView& indices = context.input(1);
    const IndexReader reader(indices);
    const int last = indices.shape.rank() - 1;
    const auto tuple = static_cast<int>(indices.shape[last]);
    const std::int64_t tuples = indices.shape.elements(0, last);
    const std::int64_t tuples_per_batch = indices.shape.elements(batch, last);
    const std::int64_t batch_elements = x.shape.elements(batch, x.shape.rank());
    const std::int64_t slice = x.shape.elements(batch + tuple, x.shape.rank());
    const Shape strides = strides_of(x.shape);
    const auto bytes = static_cast<std::int64_t>(size_of(x.type));
    for (std::int64_t t = 0; t < tuples; ++t) {
      std::int64_t from = t / tuples_per_batch * batch_elements;
      for (int i = 0; i < tuple; ++i) {
        const std::int64_t index = reader[t * tuple + i];
        const std::int64_t dim = x.shape[batch + i];
        if (!is_index(index, dim)) return index_error(index, t * tuple + i, dim);
        from += wrap_index(index, dim) * strides[batch + i];
      }
      std::memcpy(y.as_mutable<std::byte>() + t * slice * bytes, x.as<std::byte>() + from * bytes,
                  static_cast<std::size_t>(slice * bytes));
    }
    return {};
  });
}

}  // namespace

Status register_routine_gather_nd_cpu_naive(Registry& registry) {
  return add_naive(registry, {"gather_nd"}, make_naive_gather_nd);
}

}  // namespace softneuro
