#include "profiler/tune/tune_units.h"

#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/base/error.h"
#include "core/routine/implement_choice.h"
#include "core/routine/layer_cost.h"
#include "core/routine/view_adapt.h"
#include "profiler/measure/constants.h"
#include "profiler/tune/fp16_overflow.h"
#include "profiler/tune/net_search.h"
#include "selection/default_path.h"

namespace softneuro {
namespace {

// About what measuring the layer's candidates takes.
double effort_of(const LayerCandidates& layer) {
  return static_cast<double>(layer.candidates.size()) *
         (1 + layer_cost(layer.layer.problem).macs / constants::kMacsOfMillisecond);
}

// Whether every choice of the path can be had here.
bool applies(const RoutineContext& context, const NetProblems& problems, const RoutinePath& path) {
  return std::ranges::all_of(problems.layers, [&](const LayerProblem& layer) {
    const auto choice = path.layers.find(layer.layer->id);
    return choice == path.layers.end() ||
           implement_choice(context, layer.problem, choice->second).ok();
  });
}

}  // namespace

UnitStage::UnitStage(TuneContext& context)
    : context_(context),
      units_(*context.job.runtime, context.cache, context.budget, context.barrier,
             context.options.effort.exhaustive) {
  units_.rules = context.job.rules;
  units_.warn = [this](LogLevel level, std::string message) {
    context_.warn(std::move(message), level);
  };
  context.space.adapts = AdaptTimes([this](TensorId tensor, const Format& from, const Format& to) {
    return measure_adapt(tensor, from, to);
  });
}

Status UnitStage::find_candidates() {
  const TuneJob& job = context_.job;
  const RoutineContext routines = job.runtime->routine_context();
  std::vector<LayerCandidates>& layers = context_.space.layers;
  SN_ASSIGN_OR_RETURN(problems_, infer_problems(job.runtime, job.graph, job.shapes));
  SN_ASSIGN_OR_RETURN(
      context_.default_path,
      default_path(routines, problems_, job.runtime->schemas(), job.runtime->device()));
  if (const auto& known = job.known_path;
      known && context_.is_time_limited() && applies(routines, problems_, *known))
    context_.known_path = known;
  SN_ASSIGN_OR_RETURN(layers, list_candidates(routines, problems_, context_.job.rules));
  SN_RETURN_IF_ERROR(drop_what_half_cannot_hold());
  context_.space.make_index();
  specs_.assign(job.graph->tensor_count(), nullptr);
  std::vector<std::string> unsupported_layers;
  for (const LayerCandidates& layer : layers) {
    for_each_tensor(layer.layer, [&](TensorId id, const TensorSpec& spec) { specs_[id] = &spec; });
    if (layer.fallback) unsupported_layers.push_back('\'' + layer.layer.layer->name + '\'');
  }
  device_adapts_.emplace(specs_,
                         [this](const TensorSpec& tensor, const Format& from, const Format& to) {
                           return units_.profile_adapt(tensor, from, to);
                         });
  if (context_.job.rules.selection.strict && !unsupported_layers.empty())
    return unsupported(
        "layers {} have no routine in the allowed schemas: allow more schemas, or tune without "
        "strict",
        fmt::join(unsupported_layers, ", "));
  return {};
}

Status UnitStage::drop_what_half_cannot_hold() {
  const TuneJob& job = context_.job;
  const std::set<Kind> all = context_.space.kinds();
  const auto has = [&](DataType type) {
    return std::ranges::any_of(all, [&](const Kind& kind) { return kind.second == type; });
  };
  const bool float16 = has(DataType::float16);
  if (!float16 && !has(DataType::bfloat16)) return {};
  SN_ASSIGN_OR_RETURN(
      const Fp16Overflow range,
      Fp16Overflow::measure(job.runtime, job.graph, job.shapes, job.verification_inputs));
  SN_ASSIGN_OR_RETURN(const auto dropped,
                      range.drop_candidates(job.runtime->routine_context(), problems_,
                                            context_.job.rules, context_.space.layers));
  for (const auto& [type, layers] : dropped)
    context_.warn(fmt::format(
        "{} routines are left out for {} whose values come near the largest number of the type",
        to_string(type), layers == 1 ? "one layer" : fmt::format("{} layers", layers)));
  if (float16 && !job.has_samples)
    context_.warn(
        "the ranges of float16 layers come from synthetic inputs only: give calibration samples, "
        "or check the tuned net on real inputs");
  return {};
}

// The index of what the layer has in the default plan; −1: not a candidate.
int UnitStage::default_candidate(const LayerCandidates& layer) const {
  const Runtime& runtime = *context_.job.runtime;
  const auto planned = context_.default_path.layers.find(layer.layer.layer->id);
  if (planned != context_.default_path.layers.end()) return layer.index_of(planned->second);
  const auto implementation =
      runtime.routine_context().default_choice(layer.layer.problem, runtime.schemas());
  if (!implementation.ok()) return -1;
  Choice usual;
  usual.routine = (*implementation)->routine().descriptor().str();
  usual.params = (*implementation)->default_params();
  usual.formats = formats_of(layer.layer.problem);
  return layer.index_of(usual);
}

// Where time is limited every layer gets its part of it, and in that the default choice comes
// first, then what the registry ranks highest.
void UnitStage::put_promising_first() {
  const auto rank = [](const Candidate& c) {
    return c.routine == nullptr ? 0 : c.routine->facts().default_rank;
  };
  for (std::size_t l = 0; l < context_.space.layers.size(); ++l) {
    LayerCandidates& layer = context_.space.layers[l];
    if (layer.same_as != l) continue;
    const auto first = layer.candidates.begin();
    const int usual = default_candidate(layer);
    if (usual > 0) std::rotate(first, first + usual, first + usual + 1);
    std::stable_sort(first + (usual < 0 ? 0 : 1), layer.candidates.end(),
                     [&](const Candidate& a, const Candidate& b) { return rank(a) > rank(b); });
  }
}

Status UnitStage::profile() {
  std::vector<LayerCandidates>& layers = context_.space.layers;
  TuneBudget& budget = context_.budget;
  if (context_.is_time_limited()) put_promising_first();
  const auto end = budget.end;
  std::size_t total = 0, done = 0;
  double effort = 0;
  for (std::size_t l = 0; l < layers.size(); ++l)
    if (layers[l].same_as == l) {
      ++total;
      effort += effort_of(layers[l]);
    }
  double left = effort;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t l = 0; l < layers.size(); ++l) {
    LayerCandidates& layer = layers[l];
    if (layer.same_as != l) {
      layer.candidates = layers[layer.same_as].candidates;
      layer.fallback = layers[layer.same_as].fallback;
      if (std::ranges::any_of(layer.candidates, &Candidate::assumed)) assume_default(layer);
      continue;
    }
    const std::string& name = layer.layer.layer->name;
    units_.on_candidate = [&](const Candidate& candidate, double best_us) {
      context_.report_progress("unit", done, total, name, candidate.str(), best_us);
    };
    const auto now = std::chrono::steady_clock::now();
    if (context_.is_time_limited()) {
      const double part = effort_of(layer) / left;
      budget.end =
          std::max(now, std::min(end, now + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                (end - now) * part)));
    }
    if (left < effort)
      context_.expect(std::chrono::duration<double>(now - begin).count() * left / (effort - left) +
                      NetSearch::most_seconds(context_));
    left -= effort_of(layer);
    SN_RETURN_IF_ERROR(profile_layer(l));
    context_.report_progress("unit", ++done, total, name);
  }
  context_.cache.flush();
  return {};
}

Status UnitStage::profile_layer(std::size_t index) {
  LayerCandidates& layer = context_.space.layers[index];
  const auto is_wrong = [](const Candidate& candidate) { return candidate.wrong; };
  SN_RETURN_IF_ERROR(units_.profile(layer.layer.problem, layer.candidates));
  if (std::ranges::all_of(layer.candidates, is_wrong))
    SN_RETURN_IF_ERROR(fall_back_to_float32(index));
  if (std::ranges::any_of(layer.candidates, &Candidate::is_usable)) return {};
  context_.complete = false;
  assume_default(layer);
  return {};
}

// The time is up and nothing of the layer is known: it keeps what the default plan has, or what is
// ranked highest where that is none of its candidates.
void UnitStage::assume_default(LayerCandidates& layer) const {
  for (Candidate& candidate : layer.candidates) {
    if (candidate.assumed) candidate.isolated_us = dprs::kInfinity;
    candidate.assumed = false;
  }
  const int usual = default_candidate(layer);
  const auto is_right = [](const Candidate& candidate) { return !candidate.wrong; };
  const auto first = usual >= 0 && is_right(layer.candidates[static_cast<std::size_t>(usual)])
                         ? layer.candidates.begin() + usual
                         : std::ranges::find_if(layer.candidates, is_right);
  if (first == layer.candidates.end()) return;
  first->isolated_us = 1;  // the only one: any time will do
  first->assumed = first->routine != nullptr;
}

// For a layer that no candidate computes well enough, as where random inputs pass float16's range.
Status UnitStage::fall_back_to_float32(std::size_t index) {
  CandidateRules rules = context_.job.rules;
  LayerCandidates& layer = context_.space.layers[index];
  std::erase_if(rules.selection.pin,
                [&](const auto& pin) { return pin.first != layer.layer.layer->name; });
  for (const std::string& schema : float32_schemas(context_.job.rules.schemas)) {
    rules.schemas = {schema};
    SN_ASSIGN_OR_RETURN(std::vector<LayerCandidates> alone,
                        list_candidates(context_.job.runtime->routine_context(),
                                        {problems_.graph, {layer.layer}}, rules));
    layer.candidates = std::move(alone[0].candidates);
    layer.fallback = true;
    SN_RETURN_IF_ERROR(units_.profile(layer.layer.problem, layer.candidates));
    if (std::ranges::any_of(layer.candidates, &Candidate::is_usable)) break;
  }
  return {};
}

Result<AdaptChoice> UnitStage::measure_adapt(TensorId tensor, const Format& from,
                                             const Format& to) {
  AdaptChoice impossible;
  impossible.time_us = dprs::kInfinity;
  const TensorSpec* spec = specs_[tensor];
  if (spec == nullptr || (from.type != to.type && (!is_real(from.type) || !is_real(to.type))))
    return impossible;
  if ((from.type == DataType::qint8 || to.type == DataType::qint8) && !spec->quantization)
    return impossible;
  if (is_view_adapt(spec->shape, from, to, true)) return AdaptChoice{};
  const bool is_on_host = from.device.is_host() && to.device.is_host();
  SN_ASSIGN_OR_RETURN(AdaptChoice choice, is_on_host ? units_.profile_adapt(*spec, from, to)
                                                     : device_adapts_->of(*spec, from, to));
  const Profile* const known = context_.cache.find(context_.adapt_key(tensor, from, to));
  if (known != nullptr) choice.time_us = known->time_us;
  return choice;
}

}  // namespace softneuro
