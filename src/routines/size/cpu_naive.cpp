// size cpu/naive: the number of elements of x.
#include "core/routine/registry.h"

namespace softneuro {
namespace {

class NaiveSizeKernel final : public Kernel {
 public:
  Status run(Context& context) const noexcept override {
    *context.output(0).as_mutable<std::int64_t>() = context.input(0).elements();
    return {};
  }
};

class NaiveSize final : public Routine {
 public:
  NaiveSize() : Routine("size", "cpu/naive") {}
  Result<std::unique_ptr<Kernel>> create(const Problem&, const RoutineParams&,
                                         const PackedWeights&) const override {
    return make_kernel<NaiveSizeKernel>();
  }
};

}  // namespace

Status register_routine_size_cpu_naive(Registry& registry) {
  return registry.add(std::make_unique<NaiveSize>());
}

}  // namespace softneuro
