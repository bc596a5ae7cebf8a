#include "net/tuned_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "adapt/insert_adapts.h"
#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/plan/net_problems.h"
#include "core/plan/plan_impl.h"
#include "core/routine/implement_choice.h"
#ifndef SOFTNEURO_NO_TUNER
#include "profiler/select/default_path.h"
#endif

namespace softneuro {
namespace {

// The choices of a path that do not apply here.
struct Lost {
  Choices choices;
  std::vector<std::string> lines;     // one for each
  std::map<std::string, int> causes;  // why → of how many layers
};

// In "cpu:float32:nhwc/onednn" the library: "onednn".
std::string algorithm_of(const std::string& routine) {
  return routine.substr(routine.find('/') + 1);
}

// What the path says of each layer, in order; nothing where it says nothing. Libraries work out
// most of a kernel to say whether they have it: all threads share that, as they do when kernels are
// made.
std::vector<std::optional<Result<ImplementationPtr>>> implement_all(const Runtime& core,
                                                                    const NetProblems& problems,
                                                                    const RoutinePath& path) {
  std::vector<std::optional<Result<ImplementationPtr>>> made(problems.layers.size());
  const auto implement = [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const LayerProblem& layer = problems.layers[at];
    if (const auto choice = path.layers.find(layer.layer->id); choice != path.layers.end())
      made[at] = guarded(
          [&] { return implement_choice(core.routine_context(), layer.problem, choice->second); });
  };
  const auto count = static_cast<std::int64_t>(made.size());
  if (core.uses_default_resources())
    parallel_for(core.pool(), count, implement);
  else
    for (std::int64_t i = 0; i < count; ++i) implement(i);
  return made;
}

// Those that apply go to `made`.
Lost take_out_unfit(const Runtime& core, const NetProblems& problems, RoutinePath& path,
                    Implementations& made) {
  Lost lost;
  std::unordered_set<LayerId> known;
  auto all = implement_all(core, problems, path);
  for (std::size_t l = 0; l < all.size(); ++l) {
    const LayerProblem& layer = problems.layers[l];
    known.insert(layer.layer->id);
    if (!all[l]) continue;
    if (all[l]->ok()) {
      made.emplace(layer.layer->id, **std::move(all[l]));
      continue;
    }
    const auto found = path.layers.find(layer.layer->id);
    const Choice& choice = found->second;
    const std::string reason(all[l]->status().message());
    lost.lines.push_back(fmt::format("layer '{}': tuned routine {} cannot be used here: {}",
                                     layer.layer->name, choice.routine, reason));
    const bool is_missing =
        !layer.layer->type->is_view &&
        core.registry().find(layer.layer->type->name, choice.routine) == nullptr;
    ++lost.causes[is_missing ? "no routines of '" + algorithm_of(choice.routine) + '\'' : reason];
    lost.choices.emplace(found->first, choice);
    path.layers.erase(found);
  }
  // Layers that are no step of this plan: folded, dynamic, or of another graph.
  std::erase_if(path.layers, [&](const auto& entry) { return !known.contains(entry.first); });
  return lost;
}

// "12 of 52 tuned choices cannot be used here (no routines of 'onednn': 12 layers)".
std::string what_is_lost(const Lost& lost, std::size_t all) {
  std::vector<std::string> causes;
  for (const auto& [cause, layers] : lost.causes)
    causes.push_back(fmt::format("{}: {} {}", cause, layers, layers == 1 ? "layer" : "layers"));
  return fmt::format("{} of {} tuned choices cannot be used here ({})", lost.choices.size(), all,
                     fmt::join(causes, "; "));
}

// A path with something in place of what does not apply here.
struct Mended {
  RoutinePath path;
  bool is_default = false;             // all of it
  bool is_of_other_processor = false;  // the path was measured with other vector instructions
};

std::string summary_of(const Lost& lost, const RoutinePath& tuned, std::size_t all,
                       const Mended& mended) {
  const char* const done = mended.is_default ? "the net runs on its default plan, as if untuned"
                           : mended.is_of_other_processor ? "only choices in 8 bits are used"
                                                          : "default ones replace them";
  std::string text = lost.choices.empty() ? "" : what_is_lost(lost, all);
  if (mended.is_of_other_processor)
    text += fmt::format("{}the path was measured with {} instructions, and this processor has {}",
                        text.empty() ? "" : "; ", vector_instructions(tuned.machine),
                        vector_instructions(machine_name()));
  text += fmt::format(": {}", done);
  if (tuned.time_us > 0 && tuned.time_us < tuned.untuned_us)
    text += fmt::format(
        "; where it was tuned, tuning made it {:.2f} times as fast, and {} of that is lost",
        tuned.untuned_us / tuned.time_us, mended.is_default ? "all" : "part");
  return text + (lost.choices.empty()
                     ? ". Tune on this machine"
                     : ". Load the plugins that are missing, if any, or tune on this machine");
}

#ifndef SOFTNEURO_NO_TUNER
MeasuredOn measured_on(const Runtime& core, const Graph& graph, const RoutinePath& path) {
  if (path.machine == machine_of(path, core.registry(), core.pool().concurrency()))
    return MeasuredOn::this_machine;
  // Where weights are left out, only the path's own routines have theirs.
  const bool may_differ = path.machine.empty() || graph.has_left_out();
  return may_differ || vector_instructions(path.machine) == vector_instructions(machine_name())
             ? MeasuredOn::similar_machine
             : MeasuredOn::other_instructions;
}

Result<Mended> mend(const Runtime& core, const NetProblems& problems, const Lost& lost,
                    RoutinePath path) {
  const MeasuredOn measured = measured_on(core, *problems.graph, path);
  const bool is_of_other_processor = measured == MeasuredOn::other_instructions;
  if (lost.choices.empty() && !is_of_other_processor) return Mended{std::move(path)};
  SN_ASSIGN_OR_RETURN(MendedPath mended, mend_path(core.routine_context(), problems, core.schemas(),
                                                   std::move(path), lost.choices, measured));
  return Mended{std::move(mended.path), mended.is_default, is_of_other_processor};
}
#else
Result<Mended> mend(const Runtime&, const NetProblems&, const Lost&, RoutinePath path) {
  return Mended{std::move(path)};
}
#endif

// The path with nothing but what applies here, and the implementations of what is kept of it.
Result<RoutinePath> fitted(const Runtime& core, const NetProblems& problems, RoutinePath path,
                           ReplacedChoices* replaced, Implementations& made) {
  const std::size_t all = path.layers.size();
  Lost lost = take_out_unfit(core, problems, path, made);
  SN_ASSIGN_OR_RETURN(Mended mended, mend(core, problems, lost, path));
  if (mended.is_default || mended.is_of_other_processor) made.clear();
  if (replaced != nullptr && (!lost.choices.empty() || mended.is_of_other_processor)) {
    replaced->summary = summary_of(lost, path, all, mended);
    replaced->layers = std::move(lost.lines);
  }
  return std::move(mended.path);
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
                                               const RoutinePath& path, ReplacedChoices* replaced,
                                               const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::shared_ptr<const Plan>> {
    SN_ASSIGN_OR_RETURN(const NetProblems problems, problems_of(core, graph, input_shapes, cancel));
    Implementations made;
    SN_ASSIGN_OR_RETURN(RoutinePath fitting, fitted(*core, problems, path, replaced, made));
    forget_unfit_adapts(core->registry(), fitting);
    SN_ASSIGN_OR_RETURN(AdaptedGraph adapted, insert_adapts(*graph, fitting));
    return build_plan(std::move(core), std::move(adapted.graph), input_shapes,
                      std::move(adapted.choices), cancel, std::move(made));
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
                        default_path(core->routine_context(), problems, core->schemas()));
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
