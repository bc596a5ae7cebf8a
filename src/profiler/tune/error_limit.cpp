#include "profiler/tune/error_limit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "core/base/error.h"
#include "profiler/measure/constants.h"

namespace softneuro {

SelectionRules ErrorLimit::float32_rules() const {
  SelectionRules float32 = memory_.rules();
  float32.allowed = only_float32;
  return float32;
}

std::chrono::steady_clock::time_point ErrorLimit::end_of_search() const {
  const auto now = std::chrono::steady_clock::now();
  std::chrono::steady_clock::duration allowed = constants::kErrorPartTime;
  if (context_.is_time_limited())
    allowed = std::min(allowed, (context_.budget.end - now) / constants::kErrorParts);
  return now + allowed;
}

Status ErrorLimit::measure_sensitivity(const Finalist& rounded) {
  const std::vector<double> squares = rounded.errors.squares_by_sample();
  if (squares.empty() || rounded.is_default()) return {};
  std::vector<std::size_t> samples(squares.size());
  std::iota(samples.begin(), samples.end(), std::size_t{0});
  std::stable_sort(samples.begin(), samples.end(),
                   [&](std::size_t a, std::size_t b) { return squares[a] > squares[b]; });
  samples.resize(std::min(samples.size(), constants::kSensitivitySamples));
  const Result<Selections> base = space_.select(float32_rules());
  if (!base.ok()) return {};  // the layers' own errors have to do
  base_ = base->paths[0];
  rounded_ = rounded.selection;
  return sensitivity_.measure(
      rounded.selection, *base_, samples, end_of_search(),
      [&](std::size_t done, std::size_t total, std::size_t layer) -> Status {
        SN_RETURN_IF_ERROR(context_.check_cancelled());
        context_.report_progress("sensitivity", done, total,
                                 space_.layers[layer].layer.layer->name);
        return {};
      });
}

// The reduced types that each layer can have, those first that do least to the outputs, or that
// save most time for what they do.
std::vector<ErrorLimit::Rounding> ErrorLimit::roundings(bool by_time) const {
  std::vector<Rounding> all;
  for (std::size_t l = 0; l < space_.layers.size(); ++l) {
    std::map<Precision, const Candidate*> fastest;
    for (const Candidate& candidate : space_.layers[l].candidates) {
      if (candidate.is_float32() || !candidate.is_usable()) continue;
      const Candidate*& known = fastest[candidate.routine->descriptor().precision()];
      if (known == nullptr || candidate.time_us() < known->time_us()) known = &candidate;
    }
    for (const auto& [precision, candidate] : fastest) {
      const double saved =
          by_time && base_ ? space_.candidate_of(*base_, l).time_us() - candidate->time_us() : 1;
      all.push_back(
          {l, precision, std::max(saved, 0.0) / std::max(sensitivity_.of(l, *candidate), 1e-30)});
    }
  }
  std::ranges::stable_sort(all, std::greater<>(), &Rounding::worth);
  return all;
}

bool ErrorLimit::has_rounding(const Selection& selection, const Rounding& rounding) const {
  const Candidate& candidate = space_.candidate_of(selection, rounding.layer);
  return !candidate.is_float32() &&
         candidate.routine->descriptor().precision() == rounding.precision;
}

// The fastest path with no other reduced types than these; nothing if it is no faster than `than`.
Result<std::optional<Finalist>> ErrorLimit::find_rounded(
    std::span<const Rounding> roundings, const std::optional<Finalist>& than) const {
  SN_RETURN_IF_ERROR(context_.check_cancelled());
  std::set<std::pair<std::size_t, Precision>> allowed;
  for (const Rounding& rounding : roundings) allowed.emplace(rounding.layer, rounding.precision);
  SelectionRules rules = memory_.rules();
  rules.allowed = [&](const LayerCandidates& layer, const Candidate& candidate) {
    return only_float32(layer, candidate) ||
           allowed.contains({space_.place_of(layer), candidate.routine->descriptor().precision()});
  };
  const Result<Selection> best = memory_.select(rules);
  // Not ok: all this needs too much memory, for one.
  if (!best.ok() || (than && best->cost_us >= than->selection.cost_us))
    return std::optional<Finalist>();
  return make_finalist(context_, memory_, *best);
}

// Leaves out reduced types, the last of `order` first, until the limit is met: one layer's at a
// time, or several where the net takes too long to run for that.
Result<std::optional<Finalist>> ErrorLimit::take_layers_out(const Finalist& fastest,
                                                            std::span<const Rounding> order) {
  using Seconds = std::chrono::duration<double>;
  const auto begin = std::chrono::steady_clock::now();
  const auto end = end_of_search();
  std::optional<Finalist> last;  // the path that was tried last; none: its types are not known
  if (!fastest.is_default()) last = fastest;
  const auto matters = [&](const Rounding& rounding) {
    return !last || has_rounding(last->selection, rounding);
  };
  double step = 1;
  std::size_t left = order.size();
  for (int tried = 1; left > 0; ++tried) {
    context_.report_progress("sensitivity", order.size() - left, order.size());
    // What the path does not have changes nothing when it is left out.
    for (double changed = 0; left > 0 && changed < step;) changed += matters(order[--left]) ? 1 : 0;
    SN_ASSIGN_OR_RETURN(last, find_rounded(order.first(left), {}));
    if (last) {
      SN_ASSIGN_OR_RETURN(const bool keeps, error_.keeps_limit(*last));
      if (keeps) return last;
    }
    const auto now = std::chrono::steady_clock::now();
    const double tries_left = std::max(0.0, Seconds(end - now) / Seconds(now - begin)) * tried;
    const auto matter = std::ranges::count_if(order.first(left), matters);
    step = std::max(1.0, static_cast<double>(matter) / std::max(tries_left, 1e-3));
  }
  return std::optional<Finalist>();
}

// Errors do not quite add up. To the reduced types of `best`, if there is any path yet, adds one
// more at a time, and keeps what meets the limit, until the time for it is up.
Status ErrorLimit::put_layers_back(std::optional<Finalist>& best, std::span<const Rounding> order) {
  const auto end = end_of_search();
  std::vector<Rounding> kept;
  for (const Rounding& rounding : order)
    if (best && has_rounding(best->selection, rounding)) kept.push_back(rounding);
  for (const Rounding& rounding : order) {
    if (best && has_rounding(best->selection, rounding)) continue;
    if (std::chrono::steady_clock::now() > end) break;
    kept.push_back(rounding);
    SN_ASSIGN_OR_RETURN(std::optional<Finalist> more, find_rounded(kept, best));
    bool keeps = false;
    if (more) {
      SN_ASSIGN_OR_RETURN(keeps, error_.keeps_limit(*more));
    }
    if (keeps)
      best = std::move(more);
    else
      kept.pop_back();
  }
  return {};
}

// What was found by the sum of its times is raced with the fastest finalist that meets the limit.
Result<Finalist> ErrorLimit::choose(std::vector<Finalist> ranked, double& untuned_us) {
  SN_ASSIGN_OR_RETURN(is_kept_, error_.measure(ranked[0]));
  if (!is_kept_)
    context_.expect(constants::kErrorParts *
                        std::chrono::duration<double>(constants::kErrorPartTime).count() +
                    final_seconds(context_));
  if (!context_.job.validation.empty() &&
      (context_.options.criteria.measure_sensitivity || !is_kept_))
    SN_RETURN_IF_ERROR(measure_sensitivity(ranked[0]));
  if (is_kept_) return std::move(ranked[0]);
  std::optional<Finalist> best;
  for (const bool by_time : {false, true}) {
    SN_ASSIGN_OR_RETURN(auto found, take_layers_out(ranked[0], roundings(by_time)));
    if (found && (!best || found->selection.cost_us < best->selection.cost_us))
      best = std::move(found);
  }
  SN_RETURN_IF_ERROR(put_layers_back(best, roundings(true)));
  std::vector<Finalist> keeping;
  if (best) keeping.push_back(std::move(*best));
  for (std::size_t f = 1; f < ranked.size(); ++f) {
    if (!is_allowed(context_, ranked[f])) continue;
    SN_ASSIGN_OR_RETURN(const bool keeps, error_.keeps_limit(ranked[f]));
    if (!keeps) continue;
    if (keeping.empty() || !(keeping[0].selection == ranked[f].selection))
      keeping.push_back(ranked[f]);
    break;
  }
  if (keeping.empty()) return std::move(ranked[0]);
  is_kept_ = true;
  SN_ASSIGN_OR_RETURN(Finalist untuned, default_finalist(memory_, context_.default_path));
  keeping.push_back(untuned);
  SN_RETURN_IF_ERROR(benchmark_finalists(context_, keeping));
  untuned = std::move(keeping.back());
  keeping.pop_back();
  untuned_us = untuned.time_us;
  put_in_order(context_, keeping, untuned);
  if (keeping[0].is_default())
    context_.warn(
        "only default routines were found to meet the error limit: the net is not faster than "
        "untuned");
  return std::move(keeping[0]);
}

std::vector<LayerSensitivity> ErrorLimit::rows(const Finalist& chosen) const {
  std::vector<LayerSensitivity> rows;
  const std::vector<double>& power = sensitivity_.measured();
  for (std::size_t l = 0; l < power.size(); ++l) {
    if (power[l] < 0) continue;
    const Candidate& rounded = space_.candidate_of(rounded_, l);
    LayerSensitivity row;
    row.layer = space_.layers[l].layer.layer->name;
    row.routine = rounded.str();
    row.own_error = rounded.error;
    row.net_error = std::sqrt(power[l]);
    row.saved_us = space_.candidate_of(*base_, l).time_us() - rounded.time_us();
    row.is_kept = !chosen.is_default() &&
                  kind_of(space_.candidate_of(chosen.selection, l)) == kind_of(rounded);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LayerSensitivity& a, const LayerSensitivity& b) {
                     return a.net_error > b.net_error;
                   });
  return rows;
}

bool ErrorLimit::is_put_back(const Candidate& chosen, std::size_t layer,
                             const Candidate& candidate) const {
  if (!base_) return false;
  const Kind rounded = kind_of(space_.candidate_of(rounded_, layer));
  return rounded == kind_of(candidate) && rounded != kind_of(chosen);
}

}  // namespace softneuro
