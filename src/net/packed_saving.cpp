// Packed weights of a net's tuned paths, for its file.
#include <algorithm>

#include "core/base/error.h"
#include "core/plan/plan_impl.h"
#include "net/make_runtime.h"
#include "net/net_impl.h"

namespace softneuro {
namespace {

// Adds what the kernels of `plan` have packed of the graph's constants.
Status add_packed(const PlanImpl& plan, PackedByKey& packed) {
  for (const Step& step : plan.steps) {
    if (step.routine == nullptr) continue;
    if (std::none_of(step.inputs.begin(), step.inputs.end(),
                     [&](TensorId id) { return plan.graph->is_constant(id); }))
      continue;
    SN_ASSIGN_OR_RETURN(Problem problem, problem_of(plan, *step.layer));
    SN_ASSIGN_OR_RETURN(
        const ImplementationPtr implementation,
        plan.runtime->routine_context().implement(*step.routine, std::move(problem)));
    SN_ASSIGN_OR_RETURN(const Packing packing, implementation->packing(step.params));
    SN_ASSIGN_OR_RETURN(
        PackedWeights weights,
        plan.runtime->packed_weights().get(*step.layer, *implementation, step.params, true));
    if (weights.place().empty()) continue;
    if (weights.bytes.empty()) {  // they are on the device alone
      SN_ASSIGN_OR_RETURN(weights,
                          implementation->pack_weights(step.params, plan.runtime->allocator()));
    }
    packed.emplace(PackedCache::key_of(*step.layer, *implementation, packing), weights.bytes);
  }
  return {};
}

// Whether the step that computes `layer` has packed its weights, the constant `weights`: kernels
// that pack read the model's order no more, which the numeric tests ask of every routine.
bool packs(const PlanImpl& plan, const Layer& layer, const Tensor& weights) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    if (step.layer->id != layer.id || step.packed.empty()) return false;
    const TensorId id = step.inputs[layer.type->weights->input];
    return plan.graph->is_constant(id) && plan.graph->tensor(id).constant.data() == weights.data();
  });
}

// Constants that every use of them in every one of `plans` has packed.
std::vector<bool> unread_weights(const Graph& graph,
                                 const std::vector<std::shared_ptr<const Plan>>& plans) {
  std::vector<bool> packed(graph.tensor_count()), read(graph.tensor_count());
  for (const TensorId id : graph.outputs) read[id] = true;
  for (const Layer& layer : graph.layers())
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      const TensorId id = layer.inputs[i];
      if (!graph.is_constant(id)) continue;
      const bool is_weights = layer.type->weights && layer.type->weights->input == i &&
                              i < layer.layer_inputs && layer.subgraphs.empty();
      const bool is_packed =
          is_weights && std::all_of(plans.begin(), plans.end(), [&](const auto& plan) {
            return packs(impl_of(*plan), layer, graph.tensor(id).constant);
          });
      (is_packed ? packed : read)[id] = true;
    }
  for (std::size_t id = 0; id < packed.size(); ++id) packed[id] = packed[id] && !read[id];
  return packed;
}

}  // namespace

Result<std::shared_ptr<Runtime>> Net::Impl::runtime_of(int threads) const {
  if (threads == 0 || threads == runtime->pool().concurrency()) return runtime;
  NetOptions other = net_options;
  other.threads = threads;
  other.thread_pool = nullptr;
  return make_runtime(other);
}

Result<std::vector<std::shared_ptr<const Plan>>> Net::Impl::plans_for_saving(
    const std::shared_ptr<const Graph>& saved, std::span<const RoutinePath> tuned) {
  std::vector<std::shared_ptr<const Plan>> made;
  for (const RoutinePath& path : tuned) {
    if (!is_of_this_machine(path)) continue;
    SN_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, resolve_shapes(path.shapes));
    SN_ASSIGN_OR_RETURN(const std::shared_ptr<Runtime> path_runtime, runtime_of(path.threads));
    SN_ASSIGN_OR_RETURN(made.emplace_back(),
                        build_plan(path_runtime, saved, shapes, path, nullptr));
  }
  return made;
}

Result<PackedByKey> Net::Impl::packed_for_saving(const std::shared_ptr<const Graph>& saved,
                                                 std::span<const RoutinePath> tuned) {
  PackedByKey packed;
  SN_ASSIGN_OR_RETURN(const auto made, plans_for_saving(saved, tuned));
  for (const auto& plan : made) SN_RETURN_IF_ERROR(add_packed(impl_of(*plan), packed));
  return packed;
}

Result<PackedByKey> Net::Impl::leave_out_weights(std::shared_ptr<const Graph>& saved,
                                                 std::vector<RoutinePath>& tuned) {
  std::erase_if(tuned, [&](const RoutinePath& path) { return !is_of_this_machine(path); });
  if (tuned.empty())
    return invalid_argument(
        "a file with packed weights only serves tuned paths, and the net has none for this "
        "machine: tune it first");
  PackedByKey packed;
  SN_ASSIGN_OR_RETURN(const auto made, plans_for_saving(saved, tuned));
  for (const auto& plan : made) SN_RETURN_IF_ERROR(add_packed(impl_of(*plan), packed));
  const std::vector<bool> unread = unread_weights(*saved, made);
  Graph without = *saved;
  for (TensorId id = 0; id < without.tensor_count(); ++id)
    if (unread[id]) without.tensor(id).left_out = true;
  saved = std::make_shared<const Graph>(std::move(without));
  return packed;
}

}  // namespace softneuro
