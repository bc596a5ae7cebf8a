// The error limit: the fastest path that meets it on the validation samples, as measured. Where the
// fastest path of all does not, layers are taken out of 8 and 16 bits in the order of their
// sensitivity; the measurement decides (docs/internals/accuracy.md).
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "profiler/tune/tuner.h"

namespace softneuro {
namespace {

// Of the sensitivity's samples: those that the fastest path's rounding affects most. Others would
// show next to nothing of a layer's sensitivity.
constexpr std::size_t kSensitivitySamples = 8;
// Measuring sensitivity, taking layers out in each order, and putting them back take at most this
// long each, or this share of what is left of a time limit.
constexpr std::chrono::seconds kSensitivityTime{3};
constexpr int kSensitivityShare = 4;
constexpr double kWorstError = 1e12;  // in the cache, for infinity

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
    SN_RETURN_IF_ERROR(check_cancel(budget_.cancel));
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

// Of the validation samples, by what float32 gives for them; made once.
const std::string& Tuner::validation_digest() {
  if (validation_digest_.empty()) {
    std::string text;
    for (const std::vector<Tensor>& outputs : job_.references)
      text += fmt::format("{:x} ", answer_digest(outputs));
    validation_digest_ = fmt::format("{:x}", checksum(text.data(), text.size()));
  }
  return validation_digest_;
}

// Measures the error, unless the cache knows that the path breaks the limit.
Result<bool> Tuner::keeps_limit(Finalist& finalist) {
  const std::string key = fmt::format("error|{}|{}|{}", static_cast<int>(options_.metric),
                                      validation_digest(), path_key(finalist.path));
  // What a score of the caller's depends on is not known.
  const Profile* const known = options_.score ? nullptr : cache_.find(key);
  const bool is_broken = known != nullptr && known->error > error_limit();
  if (is_broken) {
    finalist.error = known->error;
  } else {
    SN_RETURN_IF_ERROR(measure_error(finalist));
    if (!options_.score && !std::isnan(finalist.error))
      cache_.put(key, {.error = std::min(finalist.error, kWorstError)});
  }
  least_error_ = std::min(least_error_, finalist.error);
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
        SN_RETURN_IF_ERROR(check_cancel(budget_.cancel));
        report_progress("sensitivity", done, total, layers_[layer].layer.layer->name);
        return {};
      });
}

// The reduced types that each layer can have, those first that do least to the outputs, or that
// save most time for what they do.
std::vector<Tuner::Rounding> Tuner::roundings(bool by_time) const {
  std::vector<Rounding> all;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    std::map<DataType, const Candidate*> fastest;
    for (const Candidate& candidate : layers_[l].candidates) {
      if (candidate.is_float32() || candidate.wrong || !std::isfinite(candidate.unit_us)) continue;
      const Candidate*& known = fastest[candidate.routine->descriptor().type];
      if (known == nullptr || candidate.time_us() < known->time_us()) known = &candidate;
    }
    for (const auto& [type, candidate] : fastest) {
      const double saved =
          by_time && sensitivity_base_
              ? candidate_of(*sensitivity_base_, l).time_us() - candidate->time_us()
              : 1;
      all.push_back(
          {l, type, std::max(saved, 0.0) / std::max(sensitivity_.of(l, *candidate), 1e-30)});
    }
  }
  std::ranges::stable_sort(all, std::greater<>(), &Rounding::worth);
  return all;
}

bool Tuner::has_rounding(const Selection& selection, const Rounding& rounding) const {
  const Candidate& candidate = candidate_of(selection, rounding.layer);
  return !candidate.is_float32() && candidate.routine->descriptor().type == rounding.type;
}

// The fastest path with no other reduced types than these; nothing if it is no faster than `than`.
Result<std::optional<Tuner::Finalist>> Tuner::find_rounded(std::span<const Rounding> roundings,
                                                           const Finalist& than) {
  SN_RETURN_IF_ERROR(check_cancel(budget_.cancel));
  std::set<std::pair<std::size_t, DataType>> allowed;
  for (const Rounding& rounding : roundings) allowed.emplace(rounding.layer, rounding.type);
  SelectionRules rules = float32_rules();
  rules.allowed = [&, float32 = rules.allowed](const LayerCandidates& layer,
                                               const Candidate& candidate) {
    return float32(layer, candidate) ||
           allowed.contains({place_of(layer), candidate.routine->descriptor().type});
  };
  const Result<Fitting> best = fit_memory(rules);
  if (!best.ok()) return std::optional<Finalist>();  // as where all this needs too much memory
  std::vector<Finalist> found;
  SN_RETURN_IF_ERROR(add_finalist(found, best->selection).status());
  const bool is_faster =
      than.selection.choice.empty() || best->selection.cost_us < than.selection.cost_us;
  if (found.empty() || !is_faster) return std::optional<Finalist>();
  return std::optional<Finalist>(std::move(found[0]));
}

// Leaves out reduced types, the last of `order` first, until the limit is met: one layer's at a
// time, or several where the net takes too long to run for that.
Result<Tuner::Finalist> Tuner::take_layers_out(const Finalist& fastest,
                                               std::span<const Rounding> order) {
  using Seconds = std::chrono::duration<double>;
  const auto begin = std::chrono::steady_clock::now();
  const auto end = end_of_search();
  std::optional<Finalist> last;  // the path that was tried last; none: its types are not known
  if (!fastest.selection.choice.empty()) last = fastest;
  const auto matters = [&](const Rounding& rounding) {
    return !last || has_rounding(last->selection, rounding);
  };
  double step = 1;
  std::size_t left = order.size();
  for (int tried = 1; left > 0; ++tried) {
    report_progress("sensitivity", order.size() - left, order.size());
    // What the path does not have changes nothing when it is left out.
    for (double changed = 0; left > 0 && changed < step;) changed += matters(order[--left]) ? 1 : 0;
    SN_ASSIGN_OR_RETURN(last, find_rounded(order.first(left), {}));
    if (last) {
      SN_ASSIGN_OR_RETURN(const bool keeps, keeps_limit(*last));
      if (keeps) return std::move(*last);
    }
    const auto now = std::chrono::steady_clock::now();
    const double tries_left = std::max(0.0, Seconds(end - now) / Seconds(now - begin)) * tried;
    const auto matter = std::ranges::count_if(order.first(left), matters);
    step = std::max(1.0, static_cast<double>(matter) / std::max(tries_left, 1e-3));
  }
  return Finalist();
}

// Errors do not quite add up. To the reduced types of `best` (none if it has no path yet), adds one
// more at a time, and keeps what meets the limit, until the time for it is up.
Status Tuner::put_layers_back(Finalist& best, std::span<const Rounding> order) {
  const auto end = end_of_search();
  std::vector<Rounding> kept;
  for (const Rounding& rounding : order)
    if (!best.selection.choice.empty() && has_rounding(best.selection, rounding))
      kept.push_back(rounding);
  for (const Rounding& rounding : order) {
    if (!best.selection.choice.empty() && has_rounding(best.selection, rounding)) continue;
    if (std::chrono::steady_clock::now() > end) break;
    kept.push_back(rounding);
    SN_ASSIGN_OR_RETURN(std::optional<Finalist> more, find_rounded(kept, best));
    bool keeps = false;
    if (more) {
      SN_ASSIGN_OR_RETURN(keeps, keeps_limit(*more));
    }
    if (keeps)
      best = std::move(*more);
    else
      kept.pop_back();
  }
  return {};
}

// The fastest path that meets the limit on the validation samples; where none does, the fastest
// (is_limit_kept_ says so). What was found by the sum of its times is raced with the fastest
// finalist that meets the limit. That race has its own time of default choices.
Result<Tuner::Finalist> Tuner::within_limit(std::vector<Finalist> ranked, double& untuned_us) {
  SN_RETURN_IF_ERROR(measure_error(ranked[0]));
  least_error_ = ranked[0].error;
  is_limit_kept_ = ranked[0].error <= error_limit();
  if (!job_.validation.empty() && (options_.measure_sensitivity || !is_limit_kept_))
    SN_RETURN_IF_ERROR(measure_sensitivity(ranked[0]));
  if (is_limit_kept_) return std::move(ranked[0]);
  Finalist best;
  for (const bool by_time : {false, true}) {
    SN_ASSIGN_OR_RETURN(Finalist found, take_layers_out(ranked[0], roundings(by_time)));
    if (!found.selection.choice.empty() &&
        (best.selection.choice.empty() || found.selection.cost_us < best.selection.cost_us))
      best = std::move(found);
  }
  SN_RETURN_IF_ERROR(put_layers_back(best, roundings(true)));
  std::vector<Finalist> keeping;
  if (!best.selection.choice.empty()) keeping.push_back(std::move(best));
  for (std::size_t f = 1; f < ranked.size(); ++f) {
    if (!is_allowed(ranked[f])) continue;
    SN_ASSIGN_OR_RETURN(const bool keeps, keeps_limit(ranked[f]));
    if (!keeps) continue;
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
  if (keeping[0].selection.choice.empty())
    warn(
        "only default routines were found to meet the error limit: the net is not faster than "
        "untuned");
  return std::move(keeping[0]);
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
    row.saved_us = candidate_of(*sensitivity_base_, l).time_us() - rounded.time_us();
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
