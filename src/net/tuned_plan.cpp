#include "net/tuned_plan.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "adapt/insert_adapts.h"
#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/plan/net_problems.h"
#include "core/plan/plan_impl.h"
#include "core/routine/check_choice.h"
#ifndef SOFTNEURO_NO_TUNER
#include "profiler/select/default_path.h"
#endif

namespace softneuro {
namespace {

void replace_unfit_choices(const Registry& registry, const NetProblems& problems, RoutinePath& path,
                           std::vector<std::string>* replaced) {
  std::unordered_set<LayerId> known;
  for (const LayerProblem& layer : problems.layers) {
    known.insert(layer.layer->id);
    const auto found = path.layers.find(layer.layer->id);
    if (found == path.layers.end()) continue;
    const Applicability fits = check_choice(registry, layer.problem, found->second);
    if (fits.ok()) continue;
    if (replaced != nullptr)
      replaced->push_back(
          fmt::format("layer '{}': tuned routine {} cannot be used here, the default routine is "
                      "used instead: {}",
                      layer.layer->name, found->second.routine, fits.reason()));
    path.layers.erase(found);
  }
  // Layers that are no step of this plan: folded, dynamic, or of another graph.
  std::erase_if(path.layers, [&](const auto& entry) { return !known.contains(entry.first); });
}

// Adapt routines that do not apply here: the default ones serve.
void forget_unfit_adapts(const Registry& registry, RoutinePath& path) {
  std::erase_if(path.adapts, [&](const AdaptChoice& adapt) {
    return registry.find("adapt", adapt.routine) == nullptr;
  });
}

}  // namespace

Result<std::shared_ptr<const Plan>> build_plan(std::shared_ptr<Runtime> core,
                                               std::shared_ptr<const Graph> graph,
                                               std::span<const Shape> input_shapes,
                                               const RoutinePath& path,
                                               std::vector<std::string>* replaced,
                                               const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::shared_ptr<const Plan>> {
    RoutinePath fitting = path;
    SN_ASSIGN_OR_RETURN(const NetProblems problems, problems_of(core, graph, input_shapes, cancel));
    replace_unfit_choices(core->registry(), problems, fitting, replaced);
    forget_unfit_adapts(core->registry(), fitting);
    SN_ASSIGN_OR_RETURN(AdaptedGraph adapted, insert_adapts(*graph, fitting));
    return build_plan(std::move(core), std::move(adapted.graph), input_shapes,
                      std::move(adapted.choices), cancel);
  });
}

Result<std::shared_ptr<const Plan>> build_default_plan(std::shared_ptr<Runtime> core,
                                                       std::shared_ptr<const Graph> graph,
                                                       std::span<const Shape> input_shapes,
                                                       const std::atomic<bool>* cancel) {
#ifndef SOFTNEURO_NO_TUNER
  return guarded([&]() -> Result<std::shared_ptr<const Plan>> {
    SN_ASSIGN_OR_RETURN(const NetProblems problems, problems_of(core, graph, input_shapes, cancel));
    SN_ASSIGN_OR_RETURN(const RoutinePath path,
                        default_path(core->registry(), problems, core->schemas()));
    if (path.layers.empty()) return build_plan(core, graph, input_shapes, {}, cancel);
    SN_ASSIGN_OR_RETURN(AdaptedGraph adapted, insert_adapts(*graph, path));
    return build_plan(core, std::move(adapted.graph), input_shapes, std::move(adapted.choices),
                      cancel);
  });
#else
  return build_plan(std::move(core), std::move(graph), input_shapes, {}, cancel);
#endif
}

std::string machine_of(const RoutinePath& path, const Registry& registry, int threads) {
  std::set<DeviceId> devices;
  for (const auto& [id, choice] : path.layers)
    for (const std::vector<Format>* formats : {&choice.formats.inputs, &choice.formats.outputs})
      for (const Format& format : *formats)
        if (!format.device.is_host()) devices.insert(format.device);
  std::string machine = machine_name(threads);
  for (const DeviceId id : devices) {
    const Device* const device = registry.device(id);
    if (device == nullptr) return {};
    machine += fmt::format(" with {} {}", id.c_str(), device->name());
  }
  return machine;
}

bool reads_ranges(const RoutinePath& path) {
  const auto is_qint8 = [](const Format& format) { return format.type == DataType::qint8; };
  return std::any_of(path.layers.begin(), path.layers.end(), [&](const auto& layer) {
    const FormatTuple& formats = layer.second.formats;
    return std::any_of(formats.inputs.begin(), formats.inputs.end(), is_qint8) ||
           std::any_of(formats.outputs.begin(), formats.outputs.end(), is_qint8);
  });
}

}  // namespace softneuro
