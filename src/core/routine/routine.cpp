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

}  // namespace softneuro
