// Default plans of builds without the solver: the registry's default choices.
#include "core/plan/plan_impl.h"
#include "net/tuned_plan.h"

namespace softneuro {

Result<std::shared_ptr<const Plan>> build_default_plan(std::shared_ptr<Runtime> runtime,
                                                       std::shared_ptr<const Graph> graph,
                                                       std::span<const Shape> input_shapes,
                                                       const std::atomic<bool>* cancel) {
  return build_plan(std::move(runtime), std::move(graph), input_shapes, {}, cancel);
}

Result<MendedPath> mended_path(const Runtime&, const NetProblems&, const Choices&,
                               RoutinePath path) {
  return MendedPath{std::move(path)};
}

}  // namespace softneuro
