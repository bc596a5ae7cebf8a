// reshape, flatten, squeeze, unsqueeze and identity cpu/naive: the input's bytes as they are.
#include "routines/moves.h"
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class ViewCopyKernel final : public Kernel {
 public:
  int in_place_input() const noexcept override { return 0; }
  Status run(Context& context) const noexcept override {
    const TensorView& x = context.input(0);
    const auto bytes = static_cast<std::int64_t>(size_of(x.type)) * x.elements();
    copy_bytes(x.data, context.output(0).data, bytes, context.pool());
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_view_copy(const Problem&) {
  return make_kernel<ViewCopyKernel>();
}

Status register_routine_reshape_cpu_naive(Registry& registry) {
  return add_naive(registry, {"reshape", "flatten", "squeeze", "unsqueeze", "identity"},
                   make_view_copy);
}

}  // namespace softneuro
