#include "routines/naive_routine.h"

namespace softneuro {
namespace {

class FunctionRoutine final : public SimpleRoutine {
 public:
  FunctionRoutine(const char* layer_type, MakeKernel make)
      : SimpleRoutine(layer_type, "cpu/naive"), make_(make) {}
  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext&) const override {
    return make_(problem);
  }

 private:
  MakeKernel make_;
};

}  // namespace

Status add_naive(Registry& registry, std::initializer_list<const char*> layer_types,
                 MakeKernel make) {
  for (const char* layer_type : layer_types)
    SN_RETURN_IF_ERROR(registry.add(std::make_unique<FunctionRoutine>(layer_type, make)));
  return {};
}

}  // namespace softneuro
