#include "core/routine/function_routine.h"

#include <string>

namespace softneuro {
namespace {

// The functions live as long as its routine.
class FunctionImplementation final : public Implementation {
 public:
  FunctionImplementation(ProblemPtr problem, const RoutineContext& context,
                         const RoutineFunctions& functions)
      : Implementation(std::move(problem), context), functions_(functions) {}
  double speed() const override {
    return functions_.speed == nullptr ? 1 : functions_.speed(problem());
  }
  Result<Packing> packing(const RoutineParams&) const override {
    if (functions_.packed_bytes == nullptr) return Packing();
    return Packing{functions_.packed_bytes(problem()), {}};
  }
  Status pack(const RoutineParams&, Allocator& scratch, std::byte* packed) const override {
    return functions_.pack(problem(), scratch, packed);
  }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams&,
                                                const PackedWeights& packed) const override {
    return functions_.create != nullptr ? functions_.create(problem())
                                        : functions_.create_with(problem(), context(), packed);
  }

 private:
  const RoutineFunctions& functions_;
};

class FunctionRoutine final : public Routine {
 public:
  FunctionRoutine(const char* layer_type, const std::string& descriptor,
                  const RoutineFunctions& functions)
      : Routine(layer_type, descriptor), functions_(functions) {}
  RoutineFacts facts() const override { return functions_.facts; }
  std::vector<FormatTuple> formats(const Problem& problem) const override {
    return functions_.formats == nullptr ? Routine::formats(problem)
                                         : functions_.formats(problem, descriptor());
  }

 protected:
  bool supports_post_ops(const Problem& problem) const override {
    return functions_.supports_post_ops != nullptr && functions_.supports_post_ops(problem).ok();
  }
  Applicability applicable(const Problem& problem) const override {
    return functions_.applicable == nullptr ? Applicability::yes() : functions_.applicable(problem);
  }
  Result<std::shared_ptr<Implementation>> make_implementation(
      ProblemPtr problem, const RoutineContext& context) const override {
    return make_implementation_of<FunctionImplementation>(std::move(problem), context, functions_);
  }

 private:
  RoutineFunctions functions_;
};

}  // namespace

Status add_routines(Registry& registry, std::initializer_list<const char*> layer_types,
                    std::initializer_list<const char*> schemas, const char* name,
                    const RoutineFunctions& functions) {
  for (const char* layer_type : layer_types)
    for (const char* schema : schemas)
      SN_RETURN_IF_ERROR(registry.add(std::make_unique<FunctionRoutine>(
          layer_type, std::string(schema) + "/" + name, functions)));
  return {};
}

}  // namespace softneuro
