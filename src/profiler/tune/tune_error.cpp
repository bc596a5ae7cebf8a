// The error limit: the fastest path that meets it on the validation samples, as measured. Where the
// fastest path of all does not, layers are taken out of 8 and 16 bits: the solver is bound by their
// sensitivity, the measurement decides (docs/internals/accuracy.md).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/base/error.h"
#include "profiler/tune/tuner.h"

namespace softneuro {
namespace {

// Of the sensitivity's samples: those that the fastest path's rounding affects most. Others would
// show next to nothing of a layer's sensitivity.
constexpr std::size_t kSensitivitySamples = 8;
// Measuring sensitivity, and putting layers back, takes at most this long each, or this share of
// what is left of a time limit.
constexpr std::chrono::seconds kSensitivityTime{3};
constexpr int kSensitivityShare = 4;

constexpr int kSolves = 8;         // under a bound on the sensitivity
constexpr double kAim = 0.9;       // of the sensitivity that would just meet the limit
constexpr double kNear = 0.85;     // of the least sensitivity that fails: near enough to stop
constexpr double kFirstCut = 0.1;  // of the bound, while nothing is known that holds

}  // namespace

double Tuner::error_limit() const {
  return options_.max_error.value_or(kDefaultMaxError);
}

// Runs the validation samples; fills in the finalist's error.
Status Tuner::measure_error(Finalist& finalist) {
  finalist.errors = AnswerError();
  if (job_.validation.empty()) return {};
  SN_ASSIGN_OR_RETURN(const auto plan,
                      build_plan(job_.core, job_.graph, job_.shapes, finalist.path, nullptr));
  SN_ASSIGN_OR_RETURN(Session session, Session::create(plan));
  std::vector<NamedTensors> answers;
  for (std::size_t s = 0; s < job_.validation.size(); ++s) {
    if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    SN_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, job_.validation.at(s));
    std::vector<Tensor> outputs(plan->outputs().size());
    SN_RETURN_IF_ERROR(session.run(inputs, outputs));
    finalist.errors.add(job_.references[s], outputs);
    if (!options_.score) continue;
    for (Tensor& output : outputs) {  // views of the session's memory, which the next run reuses
      SN_ASSIGN_OR_RETURN(output, output.clone(job_.core->allocator()));
    }
    answers.push_back(named(outputs));
  }
  finalist.error = finalist.errors.value(options_.metric);
  finalist.interval = finalist.errors.interval(options_.metric);
  if (!options_.score) return {};
  if (!reference_score_) {
    std::vector<NamedTensors> references;
    for (const std::vector<Tensor>& outputs : job_.references) references.push_back(named(outputs));
    SN_ASSIGN_OR_RETURN(reference_score_, score_of(references));
  }
  SN_ASSIGN_OR_RETURN(const double score, score_of(answers));
  finalist.error = std::max(0.0, *reference_score_ - score);
  finalist.interval = {finalist.error, finalist.error};
  return {};
}

NamedTensors Tuner::named(const std::vector<Tensor>& outputs) const {
  NamedTensors tensors;
  for (std::size_t o = 0; o < outputs.size(); ++o)
    tensors.emplace(job_.graph->tensor(job_.graph->outputs[o]).name, outputs[o]);
  return tensors;
}

Result<double> Tuner::score_of(const std::vector<NamedTensors>& answers) const {
  SN_ASSIGN_OR_RETURN(const double score, options_.score(answers));
  if (std::isfinite(score)) return score;
  return invalid_argument(
      "the score of the outputs for {} samples is {}: it must be a finite number", answers.size(),
      score);
}

bool Tuner::keeps_limit(const Finalist& finalist) const {
  return finalist.error <= error_limit();
}

// Only float32 where a layer has it: the rest is computed as it must be.
SelectionRules Tuner::float32_rules() const {
  SelectionRules float32 = rules();
  float32.allowed = [](const LayerCandidates& layer, const Candidate& candidate) {
    if (candidate.is_float32()) return true;
    return std::none_of(layer.candidates.begin(), layer.candidates.end(), [](const Candidate& c) {
      return c.is_float32() && !c.wrong && std::isfinite(c.unit_us);
    });
  };
  return float32;
}

std::chrono::steady_clock::time_point Tuner::end_of_search() const {
  const auto now = std::chrono::steady_clock::now();
  std::chrono::steady_clock::duration allowed = kSensitivityTime;
  if (options_.time_limit.count() > 0)
    allowed = std::min(allowed, (budget_.end - now) / kSensitivityShare);
  return now + allowed;
}

Status Tuner::measure_sensitivity(const Finalist& rounded) {
  const std::vector<double> squares = rounded.errors.squares_by_sample();
  if (squares.empty() || rounded.selection.choice.empty()) return {};
  std::vector<std::size_t> samples(squares.size());
  std::iota(samples.begin(), samples.end(), std::size_t{0});
  std::stable_sort(samples.begin(), samples.end(),
                   [&](std::size_t a, std::size_t b) { return squares[a] > squares[b]; });
  samples.resize(std::min(samples.size(), kSensitivitySamples));
  const Result<Selections> base = select_paths(*job_.graph, layers_, adapts_, float32_rules());
  if (!base.ok()) return {};  // the layers' own errors have to do
  sensitivity_base_ = base->paths[0];
  sensitivity_rounded_ = rounded.selection;
  return sensitivity_.measure(
      rounded.selection, *sensitivity_base_, samples, end_of_search(),
      [&](std::size_t done, std::size_t total, std::size_t layer) -> Status {
        if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
        report_progress("sensitivity", done, total, layers_[layer].layer.layer->name);
        return {};
      });
}

// The next bound on the sensitivity: sensitivity is a power, so that the error is taken to grow
// with its root. Where that leads out of what is open, the open range is cut.
double Tuner::next_bound(double holds, double fails, double error) const {
  const double known = std::isfinite(error) ? error : std::sqrt(fails);
  const double ratio = error_limit() / std::max(known, 1e-30);
  const double aimed = kAim * ratio * ratio * fails;
  if (aimed > holds && aimed < fails) return aimed;
  return holds > 0 ? std::sqrt(holds * fails) : kFirstCut * fails;
}

// Solves under bounds on the sensitivity between none and that of `fastest`. All paths that meet
// the limit.
Result<std::vector<Tuner::Finalist>> Tuner::find_under_bounds(const Finalist& fastest) {
  // Bounds; what is between them is open.
  double holds = 0, fails = sensitivity_.of(fastest.selection), error = fastest.error;
  std::vector<Finalist> holding, tried;
  for (int solve = 0; solve < kSolves && holds < kNear * fails; ++solve) {
    if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    if (budget_.expired() && !holding.empty()) break;
    const bool is_last_chance = holding.empty() && solve + 1 == kSolves;
    SelectionRules limited = is_last_chance ? float32_rules() : rules();
    if (!is_last_chance) limited.max_error = next_bound(holds, fails, error);
    const Result<Selections> paths = select_paths(*job_.graph, layers_, adapts_, limited);
    if (!paths.ok()) {  // nothing has so little sensitivity
      fails = limited.max_error;
      continue;
    }
    SN_ASSIGN_OR_RETURN(const bool is_new, add_finalist(tried, paths->paths[0]));
    if (!is_new) {  // one that holds: bounds below the sensitivity of what failed do not reach that
      holds = limited.max_error;
      continue;
    }
    SN_RETURN_IF_ERROR(measure_error(tried.back()));
    if (keeps_limit(tried.back())) {
      holds = limited.max_error;
      holding.push_back(tried.back());
    } else {
      fails = std::min(fails, std::min(limited.max_error, sensitivity_.of(tried.back().selection)));
      error = tried.back().error;
    }
  }
  return holding;
}

// Errors do not quite add up, so that bounds on the sensitivity leave room. From `best` (float32
// alone if it has no path yet), rounds one more of the layers that `fastest` rounds, those first
// that save most time for their sensitivity, and keeps what meets the limit, until the time for it
// is up.
Status Tuner::put_layers_back(Finalist& best, const Finalist& fastest) {
  if (!sensitivity_base_) return {};
  const auto end = end_of_search();
  std::set<std::size_t> rounded, others;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (candidate_of(fastest.selection, l).is_float32()) continue;
    const bool is_in =
        !best.selection.choice.empty() && !candidate_of(best.selection, l).is_float32();
    (is_in ? rounded : others).insert(l);
  }
  const auto worth = [&](std::size_t l) {
    const Candidate& candidate = candidate_of(fastest.selection, l);
    return saved_us(l) / std::max(sensitivity_.of(l, candidate), 1e-30);
  };
  std::vector<std::size_t> order(others.begin(), others.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
  for (const std::size_t l : order) {
    if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    if (std::chrono::steady_clock::now() > end) break;
    rounded.insert(l);
    SelectionRules rules = float32_rules();
    rules.allowed = [&, float32 = rules.allowed](const LayerCandidates& layer,
                                                 const Candidate& candidate) {
      return rounded.contains(place_of(layer)) || float32(layer, candidate);
    };
    SN_ASSIGN_OR_RETURN(const Selections paths, select_paths(*job_.graph, layers_, adapts_, rules));
    std::vector<Finalist> more;
    SN_ASSIGN_OR_RETURN(const bool fits, add_finalist(more, paths.paths[0]));
    if (!fits) {
      rounded.erase(l);
      continue;
    }
    const bool is_faster =
        best.selection.choice.empty() || more[0].selection.cost_us < best.selection.cost_us;
    if (is_faster) SN_RETURN_IF_ERROR(measure_error(more[0]));
    if (is_faster && keeps_limit(more[0]))
      best = std::move(more[0]);
    else
      rounded.erase(l);
  }
  return {};
}

// The fastest path that meets the limit on the validation samples; where none does, the fastest
// (is_limit_kept_ says so). What was found under the bound is raced with the fastest finalist that
// meets it: the bound knows of sensitivity, not of time. That race has its own time of default
// choices.
Result<Tuner::Finalist> Tuner::within_limit(std::vector<Finalist> ranked, double& untuned_us) {
  SN_RETURN_IF_ERROR(measure_error(ranked[0]));
  is_limit_kept_ = keeps_limit(ranked[0]);
  if (!job_.validation.empty() && (options_.measure_sensitivity || !is_limit_kept_))
    SN_RETURN_IF_ERROR(measure_sensitivity(ranked[0]));
  if (is_limit_kept_) return std::move(ranked[0]);
  SN_ASSIGN_OR_RETURN(std::vector<Finalist> keeping, find_under_bounds(ranked[0]));
  Finalist best;
  for (const Finalist& finalist : keeping)
    if (best.selection.choice.empty() || finalist.selection.cost_us < best.selection.cost_us)
      best = finalist;
  SN_RETURN_IF_ERROR(put_layers_back(best, ranked[0]));
  if (!best.selection.choice.empty() &&
      std::none_of(keeping.begin(), keeping.end(),
                   [&](const Finalist& known) { return known.selection == best.selection; }))
    keeping.push_back(best);
  for (std::size_t f = 1; f < ranked.size(); ++f) {
    if (!is_allowed(ranked[f])) continue;
    SN_RETURN_IF_ERROR(measure_error(ranked[f]));
    if (!keeps_limit(ranked[f])) continue;
    if (std::none_of(keeping.begin(), keeping.end(),
                     [&](const Finalist& known) { return known.selection == ranked[f].selection; }))
      keeping.push_back(ranked[f]);
    break;
  }
  if (keeping.empty()) return std::move(ranked[0]);
  is_limit_kept_ = true;
  SN_ASSIGN_OR_RETURN(Finalist untuned, default_finalist(default_path_));
  keeping.push_back(std::move(untuned));
  SN_RETURN_IF_ERROR(race(keeping));
  untuned_us = keeping.back().time_us;
  keeping.pop_back();
  put_in_order(keeping);
  return std::move(keeping[0]);
}

// Against the layer's float32 routine, conversions not counted.
double Tuner::saved_us(std::size_t layer) const {
  return candidate_of(*sensitivity_base_, layer).time_us() -
         candidate_of(sensitivity_rounded_, layer).time_us();
}

// One row per layer whose sensitivity was measured, the greatest first.
std::vector<LayerSensitivity> Tuner::sensitivity_rows(const Finalist& chosen) const {
  std::vector<LayerSensitivity> rows;
  const std::vector<double>& power = sensitivity_.measured();
  for (std::size_t l = 0; l < power.size(); ++l) {
    if (power[l] < 0) continue;
    const Candidate& rounded = candidate_of(sensitivity_rounded_, l);
    LayerSensitivity row;
    row.layer = layers_[l].layer.layer->name;
    row.routine = rounded.str();
    row.own_error = rounded.error;
    row.net_error = std::sqrt(power[l]);
    row.saved_us = saved_us(l);
    row.is_kept =
        !chosen.selection.choice.empty() && !candidate_of(chosen.selection, l).is_float32();
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LayerSensitivity& a, const LayerSensitivity& b) {
                     return a.net_error > b.net_error;
                   });
  return rows;
}

}  // namespace softneuro
