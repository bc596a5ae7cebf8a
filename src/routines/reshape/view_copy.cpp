#include "routines/reshape/view_copy.h"

#include "core/strided_copy.h"

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

class ViewCopyRoutine final : public Routine {
 public:
  explicit ViewCopyRoutine(std::string_view layer_type) : Routine(layer_type, "cpu/naive") {}
  Applicability applicable(const Problem&) const override { return Applicability::yes(); }
  Result<std::unique_ptr<Kernel>> create(const Problem&, const RoutineParams&,
                                         const PackedWeights&) const override {
    return std::unique_ptr<Kernel>(std::make_unique<ViewCopyKernel>());
  }
};

}  // namespace

std::unique_ptr<Routine> make_view_copy_routine(std::string_view layer_type) {
  return std::make_unique<ViewCopyRoutine>(layer_type);
}

}  // namespace softneuro
