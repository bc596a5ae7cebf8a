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
std::vector<std::optional<Result<ImplementationPtr>>> implement_all(const Runtime& runtime,
                                                                    const NetProblems& problems,
                                                                    const RoutinePath& path) {
  std::vector<std::optional<Result<ImplementationPtr>>> made(problems.layers.size());
  const auto implement = [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const LayerProblem& layer = problems.layers[at];
    if (const auto choice = path.layers.find(layer.layer->id); choice != path.layers.end())
      made[at] = guarded([&] {
        return implement_choice(runtime.routine_context(), layer.problem, choice->second);
      });
  };
  const auto count = static_cast<std::int64_t>(made.size());
  if (runtime.uses_default_resources())
    parallel_for(runtime.pool(), count, implement);
  else
    for (std::int64_t i = 0; i < count; ++i) implement(i);
  return made;
}

// Those that apply go to `made`.
Lost take_out_unfit(const Runtime& runtime, const NetProblems& problems, RoutinePath& path,
                    Implementations& made) {
  Lost lost;
  std::unordered_set<LayerId> known;
  auto all = implement_all(runtime, problems, path);
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
        runtime.registry().find(layer.layer->type->name, choice.routine) == nullptr;
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

// " (2 of them stay on cuda)"; "" where none was on a device.
std::string what_stays(const Lost& lost, const RoutinePath& mended) {
  std::map<DeviceId, int> staying;
  for (const auto& [id, choice] : lost.choices) {
    const DeviceId device = device_of(choice.formats);
    if (device.is_host()) continue;
    const auto now = mended.layers.find(id);
    staying[device] += now != mended.layers.end() && device_of(now->second.formats) == device;
  }
  std::string text;
  for (const auto& [device, count] : staying)
    text += fmt::format(" ({} of them stay on {})", count, device.c_str());
  return text;
}

std::string summary_of(const Lost& lost, const RoutinePath& tuned, std::size_t all,
                       const MendedPath& mended) {
  const char* const done = mended.is_default ? "the net runs on its default plan, as if untuned"
                           : mended.is_of_other_processor ? "only choices in 8 bits are used"
                                                          : "default ones replace them";
  std::string text = lost.choices.empty() ? "" : what_is_lost(lost, all);
  if (mended.is_of_other_processor)
    text += fmt::format("{}the path was measured with {} instructions, and this processor has {}",
                        text.empty() ? "" : "; ", vector_instructions(tuned.machine),
                        vector_instructions(machine_name()));
  text += fmt::format(": {}{}", done, what_stays(lost, mended.path));
  if (tuned.time_us > 0 && tuned.time_us < tuned.untuned_us)
    text += fmt::format(
        "; where it was tuned, tuning made it {:.2f} times as fast, and {} of that is lost",
        tuned.untuned_us / tuned.time_us, mended.is_default ? "all" : "part");
  return text + (lost.choices.empty()
                     ? ". Tune on this machine"
                     : ". Load the plugins that are missing, if any, or tune on this machine");
}

// The path with nothing but what applies here, and the implementations of what is kept of it.
Result<RoutinePath> fitted(const Runtime& runtime, const NetProblems& problems, RoutinePath path,
                           ReplacedChoices* replaced, Implementations& made) {
  const std::size_t all = path.layers.size();
  Lost lost = take_out_unfit(runtime, problems, path, made);
  SN_ASSIGN_OR_RETURN(MendedPath mended, mended_path(runtime, problems, lost.choices, path));
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

Result<std::shared_ptr<const Plan>> build_plan(std::shared_ptr<Runtime> runtime,
                                               std::shared_ptr<const Graph> graph,
                                               std::span<const Shape> input_shapes,
                                               const RoutinePath& path, ReplacedChoices* replaced,
                                               const std::atomic<bool>* cancel) {
  return guarded([&]() -> Result<std::shared_ptr<const Plan>> {
    SN_ASSIGN_OR_RETURN(const NetProblems problems,
                        infer_problems(runtime, graph, input_shapes, cancel));
    Implementations made;
    SN_ASSIGN_OR_RETURN(RoutinePath fitting, fitted(*runtime, problems, path, replaced, made));
    forget_unfit_adapts(runtime->registry(), fitting);
    SN_ASSIGN_OR_RETURN(AdaptedGraph adapted, insert_adapts(*graph, fitting));
    return build_plan(std::move(runtime), std::move(adapted.graph), input_shapes,
                      std::move(adapted.choices), cancel, std::move(made));
  });
}

std::string machine_of(const RoutinePath& path, const Registry& registry, int threads) {
  std::set<DeviceId> devices;
  for (const auto& [id, choice] : path.layers)
    for (const std::vector<Format>* formats : {&choice.formats.inputs, &choice.formats.outputs})
      for (const Format& format : *formats)
        if (!format.device.is_host()) devices.insert(format.device);
  std::string machine = machine_name(threads);
  for (const DeviceId id : devices) {
    const Result<Device*> device = registry.started_device(id);
    if (!device.ok()) return {};
    machine += fmt::format(" with {} {}", id.c_str(), (*device)->name());
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
