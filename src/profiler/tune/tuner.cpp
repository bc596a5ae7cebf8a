#include "profiler/tune/tuner.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/checksum.h"
#include "core/base/element.h"
#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/graph/graph_key.h"
#include "core/routine/layer_cost.h"
#include "core/routine/noop_adapt.h"
#include "profiler/cache/loaded_code.h"
#include "profiler/select/default_path.h"
#include "profiler/tune/half_range.h"

namespace softneuro {
namespace {

constexpr double kTie = 1.01;  // within this the solver's order holds
// Of a time limit, when the stages end: candidates alone, inside the net, whole paths. What is left
// is for the error limit and the verification.
constexpr double kAloneShare = 0.5, kInsideShare = 0.7, kRaceShare = 0.8;
// How the first of these is shared between layers: a candidate takes about a millisecond in itself,
// and as long again for so many multiply-adds.
constexpr double kMacsOfMillisecond = 1e7;

}  // namespace

Tuner::Tuner(const TuneJob& job)
    : job_(job),
      options_(*job.options),
      barrier_(job.core->pool()),
      caches_(job.core->pool()),
      units_(*job.core, cache_, budget_, barrier_, caches_, job.options->exhaustive),
      adapts_([this](TensorId tensor, const Format& from, const Format& to) {
        return measure_adapt(tensor, from, to);
      }),
      sensitivity_(job, layers_, adapts_, cache_) {
  budget_.cancel = options_.cancel;
  begin_ = std::chrono::steady_clock::now();
  units_.warn = [this](LogLevel level, std::string message) { warn(std::move(message), level); };
}

void Tuner::warn(std::string message, LogLevel level) {
  job_.core->log(level, message);
  warnings_.push_back(std::move(message));
}

void Tuner::report_progress(const char* stage, std::size_t done, std::size_t total,
                            const std::string& layer, const std::string& candidate,
                            double best_us) const {
  if (!options_.progress) return;
  TuneProgress progress;
  progress.stage = stage;
  progress.done = done;
  progress.total = total;
  progress.layer = layer.c_str();
  progress.candidate = candidate.c_str();
  progress.best_us = best_us;
  if (options_.time_limit.count() > 0)
    progress.seconds_left = std::max(
        0.0, std::chrono::duration<double>(budget_.end - std::chrono::steady_clock::now()).count());
  options_.progress(progress);
}

Result<AdaptChoice> Tuner::measure_adapt(TensorId tensor, const Format& from, const Format& to) {
  AdaptChoice impossible;
  impossible.time_us = dprs::kInfinity;
  const TensorSpec* spec = specs_[tensor];
  if (spec == nullptr || (from.type != to.type && (!is_real(from.type) || !is_real(to.type))))
    return impossible;
  if ((from.type == DataType::qint8 || to.type == DataType::qint8) && !spec->quantization)
    return impossible;
  if (is_noop_adapt(spec->shape, from, to, true)) return AdaptChoice{};
  SN_ASSIGN_OR_RETURN(AdaptChoice choice, units_.profile_adapt(*spec, from, to));
  const Profile* known = cache_.find(adapt_key(tensor, from, to));
  if (known != nullptr) choice.time_us = known->time_us;
  return choice;
}

std::string Tuner::net_key(const LayerCandidates& layer, const Candidate& candidate) const {
  return fmt::format("net|{:x}|{}|{}", graph_key_, layer.layer.layer->id, candidate.key);
}

std::string Tuner::adapt_key(TensorId tensor, const Format& from, const Format& to) const {
  return fmt::format("net|{:x}|adapt {}|{}|{}", whole_key_, tensor, from.str(), to.str());
}

// What searches, races and adapts depend on besides what their own keys say. net_key()
// does not take it: a candidate's key names its problem and the routine's version, and what is
// known of it outlives changes of other routines.
std::uint64_t Tuner::whole_key() const {
  std::string text = fmt::format("{:x}", graph_key_);
  for (const Shape& shape : job_.shapes) text += ';' + shape.str();
  for (const Routine* routine : job_.core->registry().all())
    text += fmt::format("\n{} {} v{} {}", routine->layer_type(), routine->descriptor().str(),
                        routine->version(), routine->library());
  for (const Device* device : job_.core->registry().devices())
    text += fmt::format("\n{} {}", device->id().c_str(), device->name());
  for (const std::string& pattern : options_.avoid) text += "\navoid " + pattern;
  for (const auto& [layer, pattern] : options_.pin)
    text += fmt::format("\npin {} {}", layer, pattern);
  return checksum(text.data(), text.size());
}

std::string Tuner::path_key(const RoutinePath& path) const {
  std::vector<std::string> rows;
  for (const auto& [id, choice] : path.layers)
    rows.push_back(
        fmt::format("{} {} {} {}", id, choice.routine, choice.params.str(), choice.formats.str()));
  std::sort(rows.begin(), rows.end());
  std::string text;
  for (const std::string& row : rows) text += row + '\n';
  return fmt::format("path|{:x}|{:x}", whole_key_, checksum(text.data(), text.size()));
}

// --- candidates and unit profiles ---------------------------------------------------------------

Status Tuner::find_candidates() {
  graph_key_ = graph_key(*job_.graph);
  whole_key_ = whole_key();
  const int threads = job_.core->pool().concurrency();
  const std::string machine = machine_name(threads);
  if (options_.use_cache)
    cache_.open(options_.cache.empty() ? ProfileCache::default_folder() : options_.cache, machine,
                threads, [this](std::string message) { warn(std::move(message)); });
  SN_ASSIGN_OR_RETURN(problems_, problems_of(job_.core, job_.graph, job_.shapes));
  SN_ASSIGN_OR_RETURN(default_path_,
                      default_path(job_.core->registry(), problems_, job_.core->schemas()));
  CandidateRules rules;
  rules.schemas = options_.schemas;
  rules.avoid = options_.avoid;
  rules.pin = options_.pin;
  if (options_.exhaustive) rules.max_params = 64;
  rules.include_pruned = options_.exhaustive;
  units_.inside_rules = rules;
  SN_ASSIGN_OR_RETURN(layers_, list_candidates(job_.core->registry(), problems_, rules));
  SN_RETURN_IF_ERROR(drop_what_half_cannot_hold());
  for (std::size_t l = 0; l < layers_.size(); ++l) layer_index_[layers_[l].layer.layer->id] = l;
  specs_.assign(job_.graph->tensor_count(), nullptr);
  for (const LayerCandidates& layer : layers_)
    for_each_tensor(layer.layer, [&](TensorId id, const TensorSpec& spec) { specs_[id] = &spec; });
  std::string unsupported_layers;
  for (const LayerCandidates& layer : layers_)
    if (layer.fallback)
      unsupported_layers +=
          (unsupported_layers.empty() ? "'" : ", '") + layer.layer.layer->name + "'";
  if (options_.strict && !unsupported_layers.empty())
    return unsupported(
        "layers {} have no routine in the allowed schemas: allow more schemas, or tune without "
        "strict",
        unsupported_layers);
  return {};
}

std::size_t Tuner::constant_bytes() const {
  std::size_t bytes = 0;
  for (TensorId id = 0; id < job_.graph->tensor_count(); ++id)
    bytes += job_.graph->tensor(id).constant.bytes();
  return bytes;
}

Status Tuner::drop_what_half_cannot_hold() {
  const std::set<Kind> all = kinds();
  const auto has = [&](DataType type) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Kind& kind) { return kind.second == type; });
  };
  const bool float16 = has(DataType::float16);
  if (!float16 && !has(DataType::bfloat16)) return {};
  SN_ASSIGN_OR_RETURN(const HalfRange range, HalfRange::measure(job_.core, job_.graph, job_.shapes,
                                                                job_.verification_inputs));
  SN_ASSIGN_OR_RETURN(const auto dropped, range.drop_candidates(job_.core->registry(), problems_,
                                                                units_.inside_rules, layers_));
  for (const auto& [type, layers] : dropped)
    warn(fmt::format(
        "{} values near or beyond the largest number of {}: its routines are left out there",
        layers == 1 ? "one layer has" : fmt::format("{} layers have", layers), to_string(type)));
  if (float16 && !job_.has_samples)
    warn(
        "the ranges of float16 layers come from synthetic inputs only: give calibration samples, "
        "or "
        "check the tuned net on real inputs");
  return {};
}

void Tuner::end_stage_at(double share) {
  budget_.end = job_.end;
  if (is_time_limited())
    budget_.end = begin_ + std::chrono::duration_cast<std::chrono::nanoseconds>(
                               (job_.end - begin_) * std::max(share, 0.0));
}

// Where time is limited every layer gets its part of it, and in that the default choice comes
// first, then what the registry ranks highest.
void Tuner::put_promising_first() {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    LayerCandidates& layer = layers_[l];
    if (layer.same_as != l) {
      layer.candidates = layers_[layer.same_as].candidates;
      continue;
    }
    const int usual = default_candidate(layer);
    const Routine* const first =
        usual < 0 ? nullptr : layer.candidates[static_cast<std::size_t>(usual)].routine;
    if (usual > 0)
      std::rotate(layer.candidates.begin(), layer.candidates.begin() + usual,
                  layer.candidates.begin() + usual + 1);
    std::stable_sort(layer.candidates.begin() + (first == nullptr ? 0 : 1), layer.candidates.end(),
                     [](const Candidate& a, const Candidate& b) {
                       const auto rank = [](const Candidate& c) {
                         return c.routine == nullptr ? 0 : c.routine->default_rank();
                       };
                       return rank(a) > rank(b);
                     });
  }
}

// The index of what the layer computes by default, in the model's formats; −1: not a candidate.
int Tuner::default_candidate(const LayerCandidates& layer) const {
  const auto routine =
      job_.core->registry().default_choice(layer.layer.problem, job_.core->schemas());
  if (!routine.ok()) return -1;
  const RoutineParams params = (*routine)->default_params(layer.layer.problem);
  const auto found = std::find_if(
      layer.candidates.begin(), layer.candidates.end(), [&](const Candidate& candidate) {
        return candidate.routine == *routine && candidate.params == params &&
               candidate.formats == formats_of(layer.layer.problem);
      });
  return found == layer.candidates.end() ? -1 : static_cast<int>(found - layer.candidates.begin());
}

// About what measuring its candidates takes.
double Tuner::effort_of(const LayerCandidates& layer) const {
  return static_cast<double>(layer.candidates.size()) *
         (1 + layer_cost(layer.layer.problem).macs / kMacsOfMillisecond);
}

Status Tuner::profile_units() {
  if (is_time_limited()) put_promising_first();
  const auto end = budget_.end;
  std::size_t total = 0;
  double effort = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    total += layers_[l].same_as == l;
    if (layers_[l].same_as == l) effort += effort_of(layers_[l]);
  }
  std::size_t done = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    LayerCandidates& layer = layers_[l];
    if (layer.same_as != l) {
      layer.candidates = layers_[layer.same_as].candidates;
      layer.fallback = layers_[layer.same_as].fallback;
      continue;
    }
    units_.on_candidate = [&](const Candidate& candidate, double best_us) {
      report_progress("unit", done, total, layer.layer.layer->name, candidate.str(), best_us);
    };
    if (is_time_limited()) {
      const auto now = std::chrono::steady_clock::now();
      const double part = effort_of(layer) / effort;
      budget_.end =
          std::max(now, std::min(end, now + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                (end - now) * part)));
      effort -= effort_of(layer);
    }
    SN_RETURN_IF_ERROR(units_.profile(layer.layer.problem, layer.candidates));
    if (std::all_of(layer.candidates.begin(), layer.candidates.end(),
                    [](const Candidate& c) { return c.wrong; }))
      SN_RETURN_IF_ERROR(fall_back_to_float32(l));
    // The time is up and nothing of this layer is known: it keeps its default choice.
    const bool known =
        std::any_of(layer.candidates.begin(), layer.candidates.end(),
                    [](const Candidate& c) { return std::isfinite(c.unit_us) && !c.wrong; });
    if (!known) {
      complete_ = false;
      for (Candidate& candidate : layer.candidates)
        if (!candidate.wrong) {
          candidate.unit_us = 1;  // the only one: any time will do
          candidate.assumed = candidate.routine != nullptr;
          break;
        }
    }
    report_progress("unit", ++done, total, layer.layer.layer->name);
  }
  cache_.flush();
  return {};
}

// For a layer that no candidate computes well enough, as where random inputs pass float16's range.
Status Tuner::fall_back_to_float32(std::size_t index) {
  CandidateRules rules = units_.inside_rules;
  rules.schemas = {"cpu:float32"};
  LayerCandidates& layer = layers_[index];
  std::erase_if(rules.pin, [&](const auto& pin) { return pin.first != layer.layer.layer->name; });
  SN_ASSIGN_OR_RETURN(
      std::vector<LayerCandidates> alone,
      list_candidates(job_.core->registry(), {problems_.graph, {layer.layer}}, rules));
  layer.candidates = std::move(alone[0].candidates);
  layer.fallback = true;
  return units_.profile(layer.layer.problem, layer.candidates);
}

// --- the whole net ------------------------------------------------------------------------------

SelectionRules Tuner::rules() const {
  SelectionRules rules;
  rules.counts_memory = options_.max_memory > 0;
  rules.max_memory = memory_bound_;
  rules.fallback = smallest_;
  return rules;
}

void Tuner::recall_net_times() {
  for (LayerCandidates& layer : layers_)
    for (Candidate& candidate : layer.candidates) {
      if (candidate.routine == nullptr) continue;
      if (const Profile* known = cache_.find(net_key(layer, candidate)); known != nullptr) {
        candidate.inside = {known->time_us, known->samples};
        ++net_from_cache_;
      }
    }
}

Tuner::Kind Tuner::kind_of(const Candidate& candidate) {
  const RoutineDescriptor& descriptor = candidate.routine->descriptor();
  return {descriptor.device, descriptor.type};
}

// Devices and data types that candidates have, those of fallbacks included or not.
std::set<Tuner::Kind> Tuner::kinds(bool fallbacks) const {
  std::set<Kind> kinds;
  for (const LayerCandidates& layer : layers_)
    for (const Candidate& c : layer.candidates)
      if (c.routine != nullptr && (fallbacks || !layer.fallback)) kinds.insert(kind_of(c));
  return kinds;
}

// Candidates of `kind`, and the host's float32 ones of layers that have none.
SelectionRules Tuner::single_kind_rules(const Kind& kind) const {
  SelectionRules single = rules();
  single.allowed = [kind](const LayerCandidates& layer, const Candidate& candidate) {
    if (candidate.routine == nullptr || kind_of(candidate) == kind) return true;
    const bool has_kind =
        std::any_of(layer.candidates.begin(), layer.candidates.end(), [&](const Candidate& c) {
          return c.routine != nullptr && kind_of(c) == kind && !c.wrong && std::isfinite(c.unit_us);
        });
    return !has_kind && kind_of(candidate) == Kind(DeviceId(), DataType::float32);
  };
  return single;
}

// --- finalists ----------------------------------------------------------------------------------

Result<bool> Tuner::add_finalist(std::vector<Finalist>& finalists, const Selection& selection) {
  for (const Finalist& known : finalists)
    if (known.selection == selection) return false;
  Finalist finalist;
  finalist.selection = selection;
  SN_ASSIGN_OR_RETURN(finalist.path, make_path(*job_.graph, layers_, adapts_, selection));
  SN_ASSIGN_OR_RETURN(finalist.memory, memory_of(finalist.path));
  if (finalist.memory > options_.max_memory) return false;
  finalists.push_back(std::move(finalist));
  return true;
}

// The best path of each kind alone: what a mixture has to beat, measured, not predicted.
Status Tuner::add_single_kind_finalists(std::vector<Finalist>& finalists) {
  const std::set<Kind> all = kinds();
  if (all.size() < 2) return {};
  for (const Kind& kind : all) {
    const Result<Fitting> best = fit_memory(single_kind_rules(kind));
    if (!best.ok()) continue;  // this kind cannot reach some layer, or takes too much
    SN_RETURN_IF_ERROR(add_finalist(finalists, best->selection).status());
  }
  return {};
}

// Default choices on `path`.
Result<Tuner::Finalist> Tuner::default_finalist(const RoutinePath& path) const {
  Finalist finalist;
  finalist.path = path;
  SN_ASSIGN_OR_RETURN(finalist.memory, memory_of(path));
  return finalist;
}

Result<std::vector<Tuner::Finalist>> Tuner::find_finalists() {
  SN_RETURN_IF_ERROR(find_memory_bound());
  std::vector<Finalist> finalists;
  SelectionRules best_rules = rules();
  best_rules.k = budget_.expired() ? 1 : std::max(1, options_.exhaustive ? 20 : options_.finalists);
  SN_ASSIGN_OR_RETURN(const Selections best,
                      select_paths(*job_.graph, layers_, adapts_, best_rules));
  gap_ = best.gap;
  for (const Selection& selection : best.paths)
    SN_RETURN_IF_ERROR(add_finalist(finalists, selection).status());
  if (smallest_) SN_RETURN_IF_ERROR(add_finalist(finalists, *smallest_).status());
  if (!budget_.expired()) SN_RETURN_IF_ERROR(add_single_kind_finalists(finalists));
  // The references' own plan, whose error is 0: it meets a limit below float32's rounding.
  if (options_.max_error && !default_path_.layers.empty()) {
    SN_ASSIGN_OR_RETURN(Finalist plain, default_finalist({}));
    finalists.push_back(std::move(plain));
  }
  SN_ASSIGN_OR_RETURN(Finalist untuned, default_finalist(default_path_));
  finalists.push_back(std::move(untuned));  // what everything is compared with
  return finalists;
}

// Whether the caller allows the finalist. One without a selection must fit into the memory, and the
// schemas must have what its path chooses, or leaves to the registry. Layers that none of the
// schemas computes take it anyway.
bool Tuner::is_allowed(const Finalist& finalist) const {
  if (!finalist.selection.choice.empty()) return true;
  if (finalist.memory > options_.max_memory) return false;
  const RoutinePath& path = finalist.path;
  const Registry& registry = job_.core->registry();
  return std::all_of(layers_.begin(), layers_.end(), [&](const LayerCandidates& layer) {
    const Layer& known = *layer.layer.layer;
    if (known.type->is_view) return true;
    if (layer.fallback && options_.avoid.empty()) return true;
    const auto planned = path.layers.find(known.id);
    const auto routine =
        planned == path.layers.end()
            ? registry.default_choice(layer.layer.problem, job_.core->schemas())
            : Result<const Routine*>(registry.find(known.type->name, planned->second.routine));
    return routine.ok() &&
           softneuro::is_allowed(units_.inside_rules, known.name, (*routine)->descriptor());
  });
}

// The fastest first. Stable: what the noise cannot tell apart stays in the solver's order, so that
// plans do not flap, and a race on a busy machine does not outvote it. Default choices that the
// caller did not allow come last.
void Tuner::put_in_order(std::vector<Finalist>& finalists) const {
  double best = INFINITY;
  for (const Finalist& finalist : finalists) best = std::min(best, finalist.time_us);
  const auto rank = [&](const Finalist& finalist) {
    return is_allowed(finalist) ? std::max(finalist.time_us - finalist.uncertainty_us, kTie * best)
                                : INFINITY;
  };
  std::stable_sort(finalists.begin(), finalists.end(),
                   [&](const Finalist& a, const Finalist& b) { return rank(a) < rank(b); });
}

// What the answers of `path`, and those that they are compared with, depend on, and the bits of one
// of its answers; empty if that is not known or nothing is compared.
std::string Tuner::verification_key(const RoutinePath& path, std::span<const Tensor> answer) const {
  const std::uint64_t code = loaded_code();
  if (!options_.use_cache || is_time_limited() || code == 0 || job_.verification_inputs.empty())
    return {};
  std::string text;
  for (const std::vector<Tensor>& set : job_.verification_inputs)
    for (const Tensor& tensor : set)
      text += fmt::format("{:x} ", checksum(tensor.data(), tensor.bytes()));
  for (const AdaptChoice& adapt : path.adapts)
    text += fmt::format("{} {} {} {} {} ", adapt.tensor, adapt.from.str(), adapt.to.str(),
                        adapt.routine, adapt.params.str());
  text += fmt::format("{}", fmt::join(job_.core->schemas(), ","));
  const std::uint64_t graph = content_key(*job_.graph);
  const std::uint64_t model = job_.graph == job_.model ? graph : content_key(*job_.model);
  return fmt::format("verification|{:x}|{:x}|{:x}|{:x}|{:x}|{}", code, model, graph,
                     checksum(text.data(), text.size()), answer_digest(answer), path_key(path));
}

// A net that answers otherwise than the model is no result. Where all of this was verified before,
// by the same code, the same bits of one answer tell that it still holds. `answer`: what the plan
// gives for the first set of inputs.
Status Tuner::verify(const std::shared_ptr<const Plan>& plan, const RoutinePath& path,
                     std::span<const Tensor> answer) {
  report_progress("verify", 0, job_.verification_inputs.size());
  VerificationJob verification;
  verification.core = job_.core;
  verification.model = job_.model;
  verification.is_same_graph = job_.is_model;
  verification.shapes = job_.shapes;
  verification.cancel = options_.cancel;
  verification.tuned = plan;
  SN_RETURN_IF_ERROR(check_cancel(budget_.cancel));
  const std::string key = verification_key(path, answer);
  if (const Profile* const known = key.empty() ? nullptr : cache_.find(key); known != nullptr) {
    difference_ = known->error;
    verified_ = job_.verification_inputs.size();
    report_progress("verify", verified_, verified_);
    return {};
  }
  if (!job_.verification_inputs.empty()) {
    SN_ASSIGN_OR_RETURN(verification.untuned, build_plan(job_.core, job_.model, job_.shapes));
  }
  const auto begin = std::chrono::steady_clock::now();
  for (const std::vector<Tensor>& inputs : job_.verification_inputs) {
    const auto now = std::chrono::steady_clock::now();
    const auto each =
        (now - begin) / std::max<std::int64_t>(1, static_cast<std::int64_t>(verified_));
    if (verified_ > 0 && is_time_limited() && now + each > job_.end) return {};
    const Result<double> difference = verify_answer(verification, {&inputs, 1});
    if (!difference.ok())
      return Status(difference.status()).with_context("not tuned, the net stays as it was");
    difference_ = std::max(difference_, *difference);
    report_progress("verify", ++verified_, job_.verification_inputs.size());
  }
  if (!key.empty() && std::isfinite(difference_)) cache_.put(key, {.error = difference_});
  return {};
}

Result<TuneResult> Tuner::run() {
  // Before threads are pinned: the machine's name counts the cores that this one may use.
  SN_RETURN_IF_ERROR(find_candidates());
  if (options_.pin_threads) barrier_.pin_threads();
  end_stage_at(kAloneShare);
  caches_.set_residency_of(constant_bytes());
  SN_RETURN_IF_ERROR(profile_units());
  SN_RETURN_IF_ERROR(find_memory_bound());
  end_stage_at(kInsideShare);
  SN_RETURN_IF_ERROR(search());
  end_stage_at(kRaceShare);
  SN_ASSIGN_OR_RETURN(std::vector<Finalist> finalists, find_finalists());
  SN_RETURN_IF_ERROR(race(finalists));
  double untuned_us = finalists.back().time_us;
  put_in_order(finalists);
  end_stage_at(1);
  SN_ASSIGN_OR_RETURN(const Finalist chosen, within_limit(std::move(finalists), untuned_us));
  SN_ASSIGN_OR_RETURN(const auto plan,
                      build_plan(job_.core, job_.graph, job_.shapes, chosen.path, nullptr));
  SN_ASSIGN_OR_RETURN(NetBench bench, NetBench::create(plan, job_.inputs));
  const std::vector<double> times = step_times(bench);
  SN_RETURN_IF_ERROR(verify(plan, chosen.path, bench.outputs()));
  return report(chosen, plan, times, untuned_us);
}

}  // namespace softneuro
