// gather cpu/naive: x seen as [outer, axis, inner]; copies one inner run per index.
#include <cstring>

#include "core/base/parallel.h"
#include "cpu/tensor/indexing.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

constexpr std::int64_t kGrainBytes = 32 * 1024;

Result<std::unique_ptr<Kernel>> make_naive_gather(const Problem& problem) {
  SN_ASSIGN_OR_RETURN(const int axis, axis_of(problem));
  SN_ASSIGN_OR_RETURN(const TypedConstants constants, TypedConstants::create(problem));
  return make_function_kernel([=](Context& context) -> Status {
    const TensorView x = constants.input(context, 0);
    const TensorView& y = context.output(0);
    if (y.elements() == 0) return {};
    const std::int64_t dim = x.shape[axis];
    SN_RETURN_IF_ERROR(check_indices(context.input(1), dim));
    const IndexReader indices(context.input(1));
    const std::int64_t count = context.input(1).elements();
    const std::int64_t outer = x.shape.elements(0, axis);
    const std::int64_t run =
        x.shape.elements(axis + 1, x.shape.rank()) * static_cast<std::int64_t>(size_of(x.type));
    parallel_ranges(context.pool(), outer * count, kGrainBytes / run,
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t i = first; i < last; ++i) {
                        const std::int64_t row =
                            i / count * dim + wrap_index(indices[i % count], dim);
                        std::memcpy(y.as_mutable<std::byte>() + i * run,
                                    x.as<std::byte>() + row * run, static_cast<std::size_t>(run));
                      }
                    });
    return {};
  });
}

}  // namespace

Status register_routine_gather_cpu_naive(Registry& registry) {
  return add_naive(registry, {"gather"}, make_naive_gather);
}

}  // namespace softneuro
