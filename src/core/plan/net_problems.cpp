#include "core/plan/net_problems.h"

#include "core/base/error.h"
#include "core/plan/plan_impl.h"

namespace softneuro {

Result<NetProblems> infer_problems(std::shared_ptr<Runtime> runtime,
                                   std::shared_ptr<const Graph> graph,
                                   std::span<const Shape> input_shapes,
                                   const std::atomic<bool>* cancel) {
  SN_ASSIGN_OR_RETURN(const std::unique_ptr<PlanImpl> inferred,
                      infer_plan(std::move(runtime), graph, input_shapes, cancel));
  NetProblems problems;
  for (const Step& step : inferred->steps) {
    if (step.data_dependent) continue;
    LayerProblem layer;
    layer.layer = step.layer;
    SN_ASSIGN_OR_RETURN(layer.problem, problem_of(*inferred, *step.layer));
    problems.layers.push_back(std::move(layer));
  }
  problems.graph = std::move(graph);
  return problems;
}

}  // namespace softneuro
