#include "core/routine/routine.h"

#include "core/base/error.h"

namespace softneuro {

Routine::Routine(std::string_view layer_type, std::string_view descriptor)
    : layer_type_(layer_type) {
  if (auto parsed = RoutineDescriptor::parse(descriptor); parsed.ok()) descriptor_ = *parsed;
}
Routine::~Routine() = default;

std::vector<FormatTuple> Routine::formats(const Problem& problem) const {
  return uniform_formats(problem, descriptor_.type, descriptor_.layout, descriptor_.device);
}

Result<std::shared_ptr<Implementation>> Routine::implement(const ProblemPtr& problem,
                                                           const RoutineContext& context) const {
  ProblemPtr seen = problem;
  if (!problem->post_ops.empty() && !supports_post_ops(*problem))
    seen = std::make_shared<const Problem>(without_post_ops(*problem));
  SN_RETURN_IF_ERROR(applicable(*seen).status());
  SN_ASSIGN_OR_RETURN(auto made, make_implementation(std::move(seen), context));
  made->routine_ = this;
  return made;
}

// Asks the routine, which outlives it.
class SimpleRoutine::Simple final : public Implementation {
 public:
  Simple(ProblemPtr problem, const RoutineContext& context, const SimpleRoutine& simple)
      : Implementation(std::move(problem), context), simple_(simple) {}
  double speed() const override { return simple_.default_speed(problem()); }

 protected:
  Result<std::unique_ptr<Kernel>> create_kernel(const RoutineParams&,
                                                const PackedWeights&) const override {
    return simple_.create(problem(), context());
  }

 private:
  const SimpleRoutine& simple_;
};

Result<std::shared_ptr<Implementation>> SimpleRoutine::make_implementation(
    ProblemPtr problem, const RoutineContext& context) const {
  return make_implementation_of<Simple>(std::move(problem), context, *this);
}

}  // namespace softneuro
