#include "profiler/select/default_path.h"

#include <algorithm>
#include <map>

#include "core/base/tensor_view.h"
#include "core/routine/layer_cost.h"
#include "core/routine/noop_adapt.h"
#include "profiler/measure/constants.h"
#include "profiler/select/default_candidates.h"
#include "profiler/select/selection.h"

namespace softneuro {
namespace {

using namespace constants;

std::vector<LayerCandidates> list_all(const RoutineContext& context, const NetProblems& problems,
                                      std::span<const std::string> schemas) {
  const DefaultCandidates defaults(context, schemas);
  std::vector<LayerCandidates> layers;
  layers.reserve(problems.layers.size());
  std::map<std::string, std::size_t> first_of;
  for (const LayerProblem& layer : problems.layers) {
    LayerCandidates entry;
    entry.layer.layer = layer.layer;
    const auto [known, is_new] =
        first_of.emplace(layer.problem.str() + quantization_key(layer.problem), layers.size());
    entry.same_as = known->second;
    entry.candidates = is_new ? defaults.of(layer.problem) : layers[known->second].candidates;
    layers.push_back(std::move(entry));
  }
  return layers;
}

// The path of least estimated cost.
Result<Selection> select_least(const NetProblems& problems,
                               const std::vector<LayerCandidates>& layers) {
  std::vector<const Shape*> shapes(problems.graph->tensor_count());  // null: of no layer
  for (const LayerProblem& layer : problems.layers)
    for_each_tensor(layer, [&](TensorId id, const TensorSpec& spec) { shapes[id] = &spec.shape; });
  AdaptTimes adapts([&](TensorId id, const Format& from, const Format& to) -> Result<AdaptChoice> {
    AdaptChoice choice;
    if (shapes[id] != nullptr) choice.time_us = estimated_adapt_cost(*shapes[id], from, to);
    return choice;
  });
  SelectionRules estimates;
  estimates.work = kDefaultPathWork;
  // There are no measurements to look for among layers alike.
  estimates.cost = [](const LayerCandidates&, const Candidate& candidate) {
    return candidate.unit_us;
  };
  SN_ASSIGN_OR_RETURN(Selections best, select_paths(*problems.graph, layers, adapts, estimates));
  return std::move(best.paths[0]);
}

Choice choice_of(const Candidate& candidate) {
  Choice choice = candidate.choice();
  choice.time_us = 0;  // the cost is no time
  return choice;
}

const Candidate& chosen(const LayerCandidates& layer, const Selection& selection, std::size_t l) {
  return layer.candidates[static_cast<std::size_t>(selection.choice[l])];
}

RoutinePath path_of(const std::vector<LayerCandidates>& layers, const Selection& selection) {
  RoutinePath path;
  for (std::size_t l = 0; l < layers.size(); ++l)
    if (selection.choice[l] != 0)  // the registry's default
      path.layers.emplace(layers[l].layer.layer->id, choice_of(chosen(layers[l], selection, l)));
  return path;
}

bool has_choices(const std::vector<LayerCandidates>& layers) {
  return std::ranges::any_of(
      layers, [](const LayerCandidates& layer) { return layer.candidates.size() > 1; });
}

// What the choices that are left took of the default plan's time, at least: all that the path
// gained, without what those that are lost may have gained.
double share_left(const std::vector<LayerCandidates>& usual, const Selection& whole,
                  const RoutinePath& kept, const Choices& lost) {
  if (kept.time_us <= 0 || kept.untuned_us <= kept.time_us) return 1;
  double lost_cost = 0, left_cost = 0;
  for (std::size_t l = 0; l < usual.size(); ++l)
    (lost.contains(usual[l].layer.layer->id) ? lost_cost : left_cost) +=
        chosen(usual[l], whole, l).unit_us;
  if (left_cost <= 0) return 1;
  const double gained = (1 - kept.time_us / kept.untuned_us) * (lost_cost + left_cost);
  return 1 - std::clamp(gained - kMostGain * lost_cost, 0.0, left_cost) / left_cost;
}

// A choice of a tuned path as the only candidate. It costs as much as the default one at most,
// which it was measured to beat, apart from adapts, and only `left` of that.
Candidate kept_candidate(const RoutineContext& context, const Problem& problem,
                         const Choice& choice, double default_cost, double left) {
  Candidate candidate;
  candidate.routine = context.registry().find(problem.type->name, choice.routine);
  candidate.params = choice.params;
  candidate.formats = choice.formats;
  candidate.unit_us = 0;
  if (candidate.routine == nullptr) return candidate;  // a view
  const auto made = context.implement(*candidate.routine, with_formats(problem, choice.formats));
  candidate.unit_us =
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

}  // namespace

double estimated_cost(const Implementation& implementation) {
  const Problem& problem = implementation.whole_problem();
  return layer_steps(problem) / implementation.speed() + kStepsPerByte * layer_cost(problem).bytes;
}

double estimated_adapt_cost(const Shape& shape, const Format& from, const Format& to) {
  if (is_noop_adapt(shape, from, to, true)) return 0;
  const auto bytes = [&](const Format& format) {
    return static_cast<double>(storage_bytes(format.type, shape, format.layout));
  };
  return kStepsPerKernel + kStepsPerByte * (bytes(from) + bytes(to));
}

Result<RoutinePath> default_path(const RoutineContext& context, const NetProblems& problems,
                                 std::span<const std::string> schemas) {
  const std::vector<LayerCandidates> layers = list_all(context, problems, schemas);
  if (!has_choices(layers)) return RoutinePath();
  SN_ASSIGN_OR_RETURN(const Selection best, select_least(problems, layers));
  return path_of(layers, best);
}

Result<MendedPath> mend_path(const RoutineContext& context, const NetProblems& problems,
                             std::span<const std::string> schemas, RoutinePath kept,
                             const Choices& lost, MeasuredOn measured) {
  const std::vector<LayerCandidates> usual = list_all(context, problems, schemas);
  SN_ASSIGN_OR_RETURN(const Selection whole, select_least(problems, usual));
  const bool is_free = measured == MeasuredOn::other_instructions;  // of floating-point choices
  if (is_free)
    std::erase_if(kept.layers, [](const auto& entry) { return !carries_over(entry.second); });
  const double left =
      measured == MeasuredOn::this_machine ? share_left(usual, whole, kept, lost) : 1;
  const DefaultCandidates defaults(context, schemas);
  std::vector<LayerCandidates> layers = usual;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    layers[l].same_as = l;
    const Problem& problem = problems.layers[l].problem;
    const LayerId id = problems.layers[l].layer->id;
    if (const auto choice = kept.layers.find(id); choice != kept.layers.end())
      layers[l].candidates = {kept_candidate(context, problem, choice->second,
                                             chosen(usual[l], whole, l).unit_us, left)};
    else if (const auto gone = lost.find(id);
             gone != lost.end() && (!is_free || carries_over(gone->second)))
      defaults.add_in(gone->second.formats, problem, layers[l].candidates);
    else if (!is_free)  // a path leaves out what has the registry's default choice
      layers[l].candidates.resize(1);
  }
  SN_ASSIGN_OR_RETURN(const Selection mended, select_least(problems, layers));
  MendedPath result;
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
