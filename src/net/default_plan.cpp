#include <algorithm>

#include "adapt/insert_adapts.h"
#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/plan/net_problems.h"
#include "core/plan/plan_impl.h"
#include "net/tuned_plan.h"

namespace softneuro {
namespace {

MeasuredOn measured_on(const Runtime& runtime, const Graph& graph, const RoutinePath& path) {
  if (path.machine == machine_of(path, runtime.registry(), runtime.pool().concurrency()))
    return MeasuredOn::this_machine;
  // Where weights are left out, only the path's own routines have theirs.
  const bool may_differ = path.machine.empty() || graph.has_left_out();
  return may_differ || vector_instructions(path.machine) == vector_instructions(machine_name())
             ? MeasuredOn::similar_machine
             : MeasuredOn::other_instructions;
}

// Inputs and outputs on devices need adapts, also without a path.
bool has_callers_on_devices(const Graph& graph) {
  const auto is_there = [&](TensorId id) { return !graph.tensor(id).device.is_host(); };
  return std::ranges::any_of(graph.inputs, is_there) ||
         std::ranges::any_of(graph.outputs, is_there);
}

}  // namespace

Result<MendedPath> mended_path(const Runtime& runtime, const NetProblems& problems,
                               const Choices& lost, RoutinePath path) {
  const MeasuredOn measured = measured_on(runtime, *problems.graph, path);
  if (lost.empty() && measured != MeasuredOn::other_instructions)
    return MendedPath{std::move(path)};
  return mend_path(runtime.routine_context(), problems, runtime.schemas(), std::move(path), lost,
                   measured, runtime.device());
}

Result<std::shared_ptr<const Plan>> build_default_plan(std::shared_ptr<Runtime> runtime,
                                                       std::shared_ptr<const Graph> graph,
                                                       std::span<const Shape> input_shapes,
                                                       const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::shared_ptr<const Plan>> {
    SN_ASSIGN_OR_RETURN(const NetProblems problems,
                        infer_problems(runtime, graph, input_shapes, cancel));
    SN_ASSIGN_OR_RETURN(
        const RoutinePath path,
        default_path(runtime->routine_context(), problems, runtime->schemas(), runtime->device()));
    if (path.layers.empty() && !has_callers_on_devices(*graph))
      return build_plan(runtime, graph, input_shapes, {}, cancel);
    SN_ASSIGN_OR_RETURN(AdaptedGraph adapted, insert_adapts(*graph, path));
    return build_plan(runtime, std::move(adapted.graph), input_shapes, std::move(adapted.choices),
                      cancel);
  });
}

}  // namespace softneuro
