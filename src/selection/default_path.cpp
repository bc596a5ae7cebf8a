#include "selection/default_path.h"

#include <algorithm>
#include <map>

#include "core/base/tensor_view.h"
#include "core/routine/layer_cost.h"
#include "core/routine/view_adapt.h"
#include "selection/default_candidates.h"
#include "selection/path_solver.h"

namespace softneuro {
namespace {

// Multiply-adds of a dense product that take as long as moving a byte between layers, most of it to
// and from caches: 250 G/s against 80 GB/s on two cores of a server with AVX-512. Less by half on
// processors with narrower vectors, where adapts then look dearer than they are.
constexpr double kStepsPerByte = 3;
// What one more step of the plan takes in itself, to hand out its work and wait for the last thread
// (0.5 µs). It keeps adapts away from layers that take hardly longer.
constexpr double kStepsPerKernel = 100'000;
// dprs::Limits::work of the search for the path: some milliseconds, which every plan would pay.
constexpr double kWork = 1e6;
// A tuned routine saves so much of the time of the default one of its layer at most: what a path
// gained in all is ascribed to the choices that are lost, up to this, before those that are left.
constexpr double kMostGain = 0.5;

struct DefaultLayer {
  const LayerProblem* layer = nullptr;
  std::vector<DefaultCandidate> candidates;
};

std::vector<DefaultLayer> list_all(const RoutineContext& context, const NetProblems& problems,
                                   std::span<const std::string> schemas, DeviceId device) {
  const DefaultCandidates defaults(context, schemas, device);
  std::vector<DefaultLayer> layers;
  layers.reserve(problems.layers.size());
  std::map<std::string, std::size_t> first_of;
  for (const LayerProblem& layer : problems.layers) {
    const auto [known, is_new] =
        first_of.emplace(layer.problem.str() + quantization_key(layer.problem), layers.size());
    layers.push_back(
        {&layer, is_new ? defaults.of(layer.problem) : layers[known->second].candidates});
  }
  return layers;
}

// The path of least estimated cost.
Result<Selection> select_least(const NetProblems& problems,
                               const std::vector<DefaultLayer>& layers) {
  std::vector<const Shape*> shapes(problems.graph->tensor_count());  // null: of no layer
  for (const LayerProblem& layer : problems.layers)
    for_each_tensor(layer, [&](TensorId id, const TensorSpec& spec) { shapes[id] = &spec.shape; });
  AdaptTimes adapts([&](TensorId id, const Format& from, const Format& to) -> Result<AdaptChoice> {
    AdaptChoice choice;
    if (shapes[id] != nullptr) choice.time_us = estimated_adapt_cost(*shapes[id], from, to);
    return choice;
  });
  std::vector<LayerOptions> options;
  options.reserve(layers.size());
  for (const DefaultLayer& layer : layers) {
    LayerOptions& entry = options.emplace_back(LayerOptions{layer.layer, {}});
    for (std::size_t c = 0; c < layer.candidates.size(); ++c)
      entry.options.push_back(
          {static_cast<int>(c), &layer.candidates[c].formats, layer.candidates[c].cost});
  }
  SN_ASSIGN_OR_RETURN(Selections best,
                      solve_paths(*problems.graph, options, adapts, {.work = kWork}));
  return std::move(best.paths[0]);
}

const DefaultCandidate& chosen(const DefaultLayer& layer, const Selection& selection,
                               std::size_t l) {
  return layer.candidates[static_cast<std::size_t>(selection.choice[l])];
}

RoutinePath path_of(const std::vector<DefaultLayer>& layers, const Selection& selection) {
  RoutinePath path;
  for (std::size_t l = 0; l < layers.size(); ++l)
    if (!chosen(layers[l], selection, l).is_implied)
      path.layers.emplace(layers[l].layer->layer->id, chosen(layers[l], selection, l).choice());
  return path;
}

bool has_choices(const std::vector<DefaultLayer>& layers) {
  return std::ranges::any_of(layers, [](const DefaultLayer& layer) {
    return layer.candidates.size() > 1 || !layer.candidates[0].is_implied;
  });
}

// What the choices that are left took of the default plan's time, at least: all that the path
// gained, without what those that are lost may have gained.
double share_left(const std::vector<DefaultLayer>& usual, const Selection& whole,
                  const RoutinePath& kept, const Choices& lost) {
  if (kept.time_us <= 0 || kept.untuned_us <= kept.time_us) return 1;
  double lost_cost = 0, left_cost = 0;
  for (std::size_t l = 0; l < usual.size(); ++l)
    (lost.contains(usual[l].layer->layer->id) ? lost_cost : left_cost) +=
        chosen(usual[l], whole, l).cost;
  if (left_cost <= 0) return 1;
  const double gained = (1 - kept.time_us / kept.untuned_us) * (lost_cost + left_cost);
  return 1 - std::clamp(gained - kMostGain * lost_cost, 0.0, left_cost) / left_cost;
}

// A choice of a tuned path as the only candidate. It costs as much as the default one at most,
// which it was measured to beat, apart from adapts, and only `left` of that.
DefaultCandidate kept_candidate(const RoutineContext& context, const Problem& problem,
                                const Choice& choice, double default_cost, double left) {
  DefaultCandidate candidate{.routine = context.registry().find(problem.type->name, choice.routine),
                             .params = choice.params,
                             .formats = choice.formats};
  if (candidate.routine == nullptr) return candidate;  // a view
  const auto made = context.implement(*candidate.routine, with_formats(problem, choice.formats));
  candidate.cost =
      left * (made.ok() ? std::min(estimated_cost(**made), default_cost) : default_cost);
  return candidate;
}

// Whether a choice holds with other vector instructions than it was measured with.
bool carries_over(const Choice& choice) {
  const auto holds = [](const Format& format) {
    return format.type == DataType::qint8 || !format.device.is_host();
  };
  return std::ranges::any_of(choice.formats.inputs, holds) ||
         std::ranges::any_of(choice.formats.outputs, holds);
}

// The device that half of the layers or more are on, if it is here; else `otherwise`.
DeviceId home_of(const RoutineContext& context, const NetProblems& problems,
                 const RoutinePath& kept, const Choices& lost, DeviceId otherwise) {
  std::map<DeviceId, std::size_t> layers;
  for (const Choices* const choices : {&kept.layers, &lost})
    for (const auto& [id, choice] : *choices) ++layers[device_of(choice.formats)];
  for (const auto& [device, count] : layers)
    if (!device.is_host() && 2 * count >= problems.layers.size() &&
        context.registry().started_device(device).ok())
      return device;
  return otherwise;
}

}  // namespace

double estimated_cost(const Implementation& implementation) {
  const Problem& problem = implementation.whole_problem();
  return layer_steps(problem) / implementation.speed() + kStepsPerByte * layer_cost(problem).bytes;
}

double estimated_adapt_cost(const Shape& shape, const Format& from, const Format& to) {
  if (is_view_adapt(shape, from, to, true)) return 0;
  const auto bytes = [&](const Format& format) {
    return static_cast<double>(storage_bytes(format.type, shape, format.layout));
  };
  return kStepsPerKernel + kStepsPerByte * (bytes(from) + bytes(to));
}

Result<RoutinePath> default_path(const RoutineContext& context, const NetProblems& problems,
                                 std::span<const std::string> schemas, DeviceId device) {
  const std::vector<DefaultLayer> layers = list_all(context, problems, schemas, device);
  if (!has_choices(layers)) return RoutinePath();
  SN_ASSIGN_OR_RETURN(const Selection best, select_least(problems, layers));
  return path_of(layers, best);
}

Result<MendedPath> mend_path(const RoutineContext& context, const NetProblems& problems,
                             std::span<const std::string> schemas, RoutinePath kept,
                             const Choices& lost, MeasuredOn measured, DeviceId device) {
  const DeviceId home = home_of(context, problems, kept, lost, device);
  const std::vector<DefaultLayer> usual = list_all(context, problems, schemas, home);
  SN_ASSIGN_OR_RETURN(const Selection whole, select_least(problems, usual));
  const bool is_free = measured == MeasuredOn::other_instructions;  // of floating-point choices
  if (is_free)
    std::erase_if(kept.layers, [](const auto& entry) { return !carries_over(entry.second); });
  const double left =
      measured == MeasuredOn::this_machine ? share_left(usual, whole, kept, lost) : 1;
  const DefaultCandidates defaults(context, schemas);
  std::vector<DefaultLayer> layers =
      home.is_host() ? usual : list_all(context, problems, schemas, DeviceId());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Problem& problem = problems.layers[l].problem;
    const LayerId id = problems.layers[l].layer->id;
    if (const auto choice = kept.layers.find(id); choice != kept.layers.end())
      layers[l].candidates = {
          kept_candidate(context, problem, choice->second, chosen(usual[l], whole, l).cost, left)};
    else if (const auto gone = lost.find(id);
             gone != lost.end() && !device_of(gone->second.formats).is_host())
      layers[l].candidates = DefaultCandidates(context, schemas, device_of(gone->second.formats))
                                 .instead_of(gone->second, problem);
    else if (gone != lost.end() && (!is_free || carries_over(gone->second)))
      defaults.add_in(gone->second.formats, problem, layers[l].candidates);
    else if (!is_free)  // a path leaves out what has the registry's default choice
      layers[l].candidates.resize(1);
  }
  SN_ASSIGN_OR_RETURN(const Selection mended, select_least(problems, layers));
  MendedPath result{.is_of_other_processor = is_free};
  // Where weights are left out, only the path's own routines have theirs.
  result.is_default =
      (kept.layers.empty() || whole.cost_us < mended.cost_us) && !problems.graph->has_left_out();
  if (result.is_default) {
    result.path = path_of(usual, whole);
    return result;
  }
  result.path = std::move(kept);
  for (const auto& [id, choice] : path_of(layers, mended).layers)
    result.path.layers.emplace(id, choice);
  return result;
}

}  // namespace softneuro
