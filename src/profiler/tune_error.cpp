// The error limit of tuning: measured on samples that calibration has not seen, repaired towards
// float32 until it holds (design, section 4).
#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/element.h"
#include "core/error.h"
#include "profiler/tuner.h"

namespace softneuro {
namespace {

constexpr int kRepairs = 8;
constexpr double kDoubt = 1.5;       // noises of layers add up only about
constexpr double kMargin = 0.9;      // aimed at, of the limit's noise
constexpr double kNearLimit = 0.85;  // of the limit: not worth another attempt

// Of one output on one sample: sums of squares, of the reference and of the difference from it.
struct OutputError {
  double square = 0, difference = 0;
};

void add_error(const Tensor& reference, const Tensor& output, OutputError& sum) {
  const TensorView r = view_of(reference), y = view_of(output);
  for (std::int64_t i = 0; i < reference.elements(); ++i) {
    const double expected = load(r, i), actual = load(y, i);
    if (expected == actual || (std::isnan(expected) && std::isnan(actual))) {
      sum.square += std::isfinite(expected) ? expected * expected : 0;
      continue;
    }
    sum.square += expected * expected;
    sum.difference += (actual - expected) * (actual - expected);
  }
}

// Student's t for 97.5 %, one side, within 1 %.
double student_t(std::size_t degrees) {
  constexpr double kFew[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
  return degrees <= std::size(kFew) ? kFew[degrees - 1] : 1.96 + 2.7 / static_cast<double>(degrees);
}

struct MeasuredError {
  double error = 0;  // RMS(out − ref) / RMS(ref) on the samples
  double bound = 0;  // what it is on others, too, in 39 of 40 cases
};

// The square of the error is a ratio of two means over samples; its standard error is that of a
// ratio estimator. A single sample says nothing about others: its own error is the bound.
MeasuredError error_over(const std::vector<OutputError>& samples) {
  OutputError sum;
  for (const OutputError& sample : samples) {
    sum.square += sample.square;
    sum.difference += sample.difference;
  }
  if (sum.difference == 0) return {};
  const double ratio = sum.square > 0 ? sum.difference / sum.square : INFINITY;
  if (!std::isfinite(ratio)) return {INFINITY, INFINITY};
  MeasuredError result{std::sqrt(ratio), std::sqrt(ratio)};
  if (samples.size() < 2) return result;
  const double n = static_cast<double>(samples.size());
  double residuals = 0;
  for (const OutputError& sample : samples)
    residuals += std::pow(sample.difference - ratio * sample.square, 2);
  const double deviation = std::sqrt(residuals / (n * (n - 1))) / (sum.square / n);
  result.bound = std::sqrt(ratio + student_t(samples.size() - 1) * deviation);
  return result;
}

std::int64_t largest(const Tensor& tensor) {
  const TensorView view = view_of(tensor);
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < tensor.elements(); ++i)
    if (load(view, i) > load(view, best)) best = i;
  return best;
}

// By output, then by sample.
using SampleErrors = std::vector<std::vector<OutputError>>;

// Runs the samples as long as nobody cancels; `agreed` counts those whose largest element of output
// 0 stays where it was.
Status add_errors(Session& session, const TuneBudget& budget,
                  const std::vector<std::vector<Tensor>>& samples,
                  const std::vector<std::vector<Tensor>>& references, SampleErrors& errors,
                  std::size_t* agreed) {
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (budget.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    std::vector<Tensor> outputs(errors.size());
    SN_RETURN_IF_ERROR(session.run(samples[s], outputs));
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (is_float(outputs[o].data_type()) && outputs[o].shape() == references[s][o].shape())
        add_error(references[s][o], outputs[o], errors[o].emplace_back());
    if (agreed != nullptr && !outputs.empty() && outputs[0].shape() == references[s][0].shape())
      *agreed += largest(outputs[0]) == largest(references[s][0]);
  }
  return {};
}

}  // namespace

// RMS(out − ref) / RMS(ref) of the worst output over all samples held back; and how often the
// largest element of output 0 stays where it was. Gives the bound that the limit is held against:
// the samples are few, and the limit is meant for others. Errors may be rare and large (a picture
// between two classes), so that a few samples show none: those that calibration saw count, too,
// unless the time is up.
Result<double> Tuner::measure_error(Finalist& finalist) {
  finalist.error = 0;
  finalist.agreement = 1;
  if (job_.held_back.empty()) return 0.0;
  SN_ASSIGN_OR_RETURN(const auto plan,
                      build_plan(job_.core, job_.graph, job_.shapes, finalist.path, nullptr));
  SN_ASSIGN_OR_RETURN(Session session, Session::create(plan));
  SampleErrors errors(plan->outputs().size());
  std::size_t agreed = 0;
  SN_RETURN_IF_ERROR(
      add_errors(session, budget_, job_.held_back, job_.references, errors, &agreed));
  double bound = 0;
  for (const std::vector<OutputError>& samples : errors) {
    const MeasuredError measured = error_over(samples);
    finalist.error = std::max(finalist.error, measured.error);
    bound = std::max(bound, measured.bound);
  }
  finalist.agreement = static_cast<double>(agreed) / static_cast<double>(job_.held_back.size());
  if (budget_.expired()) return bound;
  SN_RETURN_IF_ERROR(
      add_errors(session, budget_, job_.seen, job_.seen_references, errors, nullptr));
  for (const std::vector<OutputError>& samples : errors)
    bound = std::max(bound, error_over(samples).bound);
  return bound;
}

// The sum of the candidates' noise, as the solver adds it up.
double Tuner::noise_of(const Selection& selection) const {
  const SelectionRules summed = rules();
  double noise = 0;
  for (std::size_t l = 0; l < selection.choice.size(); ++l)
    noise += summed.error(layers_[l],
                          layers_[l].candidates[static_cast<std::size_t>(selection.choice[l])]);
  return noise;
}

// An error that others than the samples measured should not exceed, from the bound that those gave.
// Many paths are tried, and the one that passes might do so by luck: what any of them showed of the
// same noise counts as well, with a margin.
double Tuner::suspected_error(const Selection& selection, double bound) const {
  const double noise = noise_of(selection);
  double square = bound * bound;
  for (const auto& [other, others_bound] : judged_)
    if (const double others_noise = noise_of(other);
        !(other == selection) && others_noise > 0 && std::isfinite(others_bound))
      square = std::max(square, kDoubt * noise * others_bound * others_bound / others_noise);
  return std::sqrt(square);
}

Result<double> Tuner::judge_error(Finalist& finalist) {
  SN_ASSIGN_OR_RETURN(const double bound, measure_error(finalist));
  judged_.emplace_back(finalist.selection, bound);
  return suspected_error(finalist.selection, bound);
}

// The fastest of the best finalist that keeps the limit and of what repairing the very best gives:
// raced, since repairing knows of noise, not of time. That race has its own time of default
// choices.
Result<Tuner::Finalist> Tuner::within_error(std::vector<Finalist> ranked, double& untuned_us) {
  const double limit = options_.max_error;
  if (limit <= 0) {
    SN_RETURN_IF_ERROR(measure_error(ranked[0]).status());
    return std::move(ranked[0]);
  }
  if (job_.held_back.size() == 1)
    warn("one sample alone was held back: the error of others may be above the limit");
  std::vector<Finalist> keeping;
  for (std::size_t f = 0; f < ranked.size() && keeping.empty(); ++f) {
    SN_ASSIGN_OR_RETURN(const double error, judge_error(ranked[f]));
    if (error > limit) continue;
    if (f == 0) return std::move(ranked[0]);
    keeping.push_back(ranked[f]);
  }
  Result<std::vector<Finalist>> repaired = repair(ranked[0]);
  if (!repaired.ok()) {
    if (repaired.status().code() == StatusCode::cancelled) return repaired.status();
    if (keeping.empty())
      return unsupported("no path keeps the error below {}: {}", limit,
                         repaired.status().message());
    return std::move(keeping[0]);
  }
  for (Finalist& finalist : *repaired)
    if (keeping.empty() || !(finalist.selection == keeping[0].selection))
      keeping.push_back(std::move(finalist));
  keeping.emplace_back();  // default choices
  SN_RETURN_IF_ERROR(race(keeping));
  untuned_us = keeping.back().time_us;
  keeping.pop_back();
  put_in_order(keeping);
  return std::move(keeping[0]);
}

// Solves again with a bound on the noise, found by bisection: the noise model says where to look,
// the measured error whether the limit holds. What holds with room to spare is tried with more
// noise. All that hold.
Result<std::vector<Tuner::Finalist>> Tuner::repair(const Finalist& worst) {
  SN_RETURN_IF_ERROR(measure_noise(worst.selection));
  const double noise = noise_of(worst.selection);
  double measured = suspected_error(worst.selection, judged_.front().second);
  double steers = measured;         // what the next bound is derived from
  double holds = 0, fails = noise;  // bounds; 0 is float32 alone
  double bound = noise;
  std::vector<Finalist> holding, tried;
  for (int attempt = 0; attempt < kRepairs; ++attempt) {
    if (budget_.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    if (budget_.expired() && !holding.empty()) break;
    const double ratio = options_.max_error / std::max(steers, 1e-30);
    bound *= kMargin * ratio * ratio;
    if (!(bound < fails && bound > holds)) bound = (holds + fails) / 2;
    if (holding.empty() && attempt + 1 == kRepairs) bound = 0;
    SelectionRules limited = rules();
    limited.max_error = bound;
    if (bound == 0)
      limited.allowed = [](const LayerCandidates&, const Candidate& c) { return c.is_float32(); };
    SN_ASSIGN_OR_RETURN(const Selections paths,
                        select_paths(*job_.graph, layers_, adapts_, limited));
    SN_ASSIGN_OR_RETURN(const bool is_new, add_finalist(tried, paths.paths[0]));
    if (!is_new) {  // nothing between what holds and what fails, or nearly so
      if (!holding.empty()) break;
      steers = std::max(steers, 2 * options_.max_error);
      fails = bound;
      continue;
    }
    SN_ASSIGN_OR_RETURN(measured, judge_error(tried.back()));
    steers = measured;
    if (measured > options_.max_error) {
      fails = bound;
      continue;
    }
    holds = bound;
    holding.push_back(tried.back());
    if (measured > kNearLimit * options_.max_error || holds > kNearLimit * fails) break;
  }
  if (holding.empty())
    return unsupported("even float32 routines differ by {:.3g} from the reference", measured);
  return holding;
}

}  // namespace softneuro
