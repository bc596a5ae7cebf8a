// gather cpu/naive: x seen as [outer, axis, inner]; copies one inner run per index.
#include <cstring>

#include "core/base/parallel.h"
#include "cpu/tensor/indexing.h"
#include "routines/along_axis.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

constexpr std::int64_t kGrainBytes = 32 * 1024;

class NaiveGatherKernel final : public Kernel {
 public:
  NaiveGatherKernel(int axis, TypedConstants constants)
      : axis_(axis), constants_(std::move(constants)) {}

  Status run(Context& context) const noexcept override {
    const TensorView x = constants_.input(context, 0);
    const TensorView& y = context.output(0);
    if (y.elements() == 0) return {};
    const std::int64_t dim = x.shape[axis_];
    SN_RETURN_IF_ERROR(check_indices(context.input(1), dim));
    const IndexReader indices(context.input(1));
    const std::int64_t count = context.input(1).elements();
    const std::int64_t outer = x.shape.elements(0, axis_);
    const std::int64_t run =
        x.shape.elements(axis_ + 1, x.shape.rank()) * static_cast<std::int64_t>(size_of(x.type));
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
  }

 private:
  int axis_;
  TypedConstants constants_;
};

}  // namespace

Status register_routine_gather_cpu_naive(Registry& registry) {
  return add_naive(registry, {"gather"}, make_along_axis<NaiveGatherKernel>);
}

}  // namespace softneuro
