// size cpu/naive: the number of elements of x.
#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class NaiveSizeKernel final : public Kernel {
 public:
  Status run(Context& context) const noexcept override {
    *context.output(0).as_mutable<std::int64_t>() = context.input(0).elements();
    return {};
  }
};

}  // namespace

Status register_routine_size_cpu_naive(Registry& registry) {
  return add_naive<NaiveSizeKernel>(registry, {"size"});
}

}  // namespace softneuro
