// The error limit of tuning: measured on samples that calibration has not seen, repaired towards
// float32 until it holds (docs/internals/accuracy.md).
#include <algorithm>
#include <cmath>

#include "core/base/element.h"
#include "core/base/error.h"
#include "profiler/tune/error_bound.h"
#include "profiler/tune/tuner.h"

namespace softneuro {
namespace {

constexpr int kRepairs = 8;
constexpr double kMargin = 0.9;      // aimed at, of the limit's noise
constexpr double kNearLimit = 0.85;  // of the limit: near enough to stop

std::int64_t largest(const Tensor& tensor) {
  const TensorView view = view_of(tensor);
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < tensor.elements(); ++i)
    if (load(view, i) > load(view, best)) best = i;
  return best;
}

// By output, then by sample.
using SampleErrors = std::vector<std::vector<SampleError>>;

// Runs the samples until cancelled; `agreed` counts those whose largest element of output
// 0 stays where it was. What cannot be compared (another shape) adds nothing.
Status add_errors(Session& session, const TuneBudget& budget,
                  const std::vector<std::vector<Tensor>>& samples,
                  const std::vector<std::vector<Tensor>>& references, SampleErrors& errors,
                  std::size_t* agreed) {
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (budget.cancelled()) return Status(StatusCode::cancelled, "tuning was cancelled");
    std::vector<Tensor> outputs(errors.size());
    SN_RETURN_IF_ERROR(session.run(samples[s], outputs));
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (is_float(outputs[o].data_type()))
        errors[o].push_back(outputs[o].shape() == references[s][o].shape()
                                ? square_sums(references[s][o], outputs[o])
                                : SampleError());
    if (agreed != nullptr && !outputs.empty() && outputs[0].shape() == references[s][0].shape())
      *agreed += largest(outputs[0]) == largest(references[s][0]);
  }
  return {};
}

// Of the output whose error is the largest.
ErrorParts worst_of(const SampleErrors& errors) {
  ErrorParts worst;
  for (const std::vector<SampleError>& samples : errors)
    if (ErrorParts parts = parts_of(samples);
        worst.error.empty() || parts.square() > worst.square())
      worst = std::move(parts);
  return worst;
}

}  // namespace

// Fills in the error of the worst output over the samples held back, and how often the largest
// element of output 0 stays where it was. Gives the parts of the error over all samples, those that
// calibration saw included unless the time is up: errors may be rare and large, so that a few
// samples show none.
Result<ErrorParts> Tuner::measure_error(Finalist& finalist) {
  finalist.error = 0;
  finalist.agreement = 1;
  if (job_.held_back.empty()) return ErrorParts();
  SN_ASSIGN_OR_RETURN(const auto plan,
                      build_plan(job_.core, job_.graph, job_.shapes, finalist.path, nullptr));
  SN_ASSIGN_OR_RETURN(Session session, Session::create(plan));
  SampleErrors errors(plan->outputs().size());
  std::size_t agreed = 0;
  SN_RETURN_IF_ERROR(
      add_errors(session, budget_, job_.held_back, job_.references, errors, &agreed));
  finalist.error = std::sqrt(worst_of(errors).square());
  finalist.agreement = static_cast<double>(agreed) / static_cast<double>(job_.held_back.size());
  if (!budget_.expired())
    SN_RETURN_IF_ERROR(
        add_errors(session, budget_, job_.seen, job_.seen_references, errors, nullptr));
  return worst_of(errors);
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

// Which samples rounding affects, whatever is rounded: the mean of all evaluated paths. One path is
// too noisy an estimate, as its rounding may just miss a sample. Samples that the noise of layers
// was measured on share their total in the proportions measured there.
ErrorParts Tuner::typical_parts() const {
  ErrorParts typical = evaluated_.front().parts;
  std::fill(typical.error.begin(), typical.error.end(), 0.0);
  for (const Evaluated& evaluated : evaluated_) {
    const double square = evaluated.parts.square();
    if (!(square > 0) || !std::isfinite(square) || noise_of(evaluated.selection) == 0) continue;
    if (evaluated.parts.error.size() != typical.error.size()) continue;
    for (std::size_t s = 0; s < typical.error.size(); ++s)
      typical.error[s] += evaluated.parts.error[s] / square;
  }
  double of_judged = 0, of_layers = 0;
  for (const auto& [sample, noise] : noise_by_sample_) {
    of_judged += typical.error[sample];
    of_layers += noise;
  }
  if (of_layers > 0)
    for (const auto& [sample, noise] : noise_by_sample_)
      typical.error[sample] = noise * of_judged / of_layers;
  return typical;
}

// An error that samples other than the measured ones should not exceed. Many paths are tried, and
// one may pass by luck, so the error that the others showed for the same noise counts as well.
double Tuner::error_upper_bound(const Finalist& finalist, const Evaluated& evaluated) const {
  const double noise = noise_of(evaluated.selection);
  double others = 0, others_noise = 0;
  for (const Evaluated& other : evaluated_) {
    const double other_noise = noise_of(other.selection), square = other.parts.square();
    if (other.selection == evaluated.selection || other_noise == 0 || !std::isfinite(square))
      continue;
    others += square;
    others_noise += other_noise;
  }
  double square = evaluated.parts.square();
  if (others_noise > 0) square = std::max(square, noise * others / others_noise);
  if (square == 0) return finalist.error;
  const ErrorParts typical = typical_parts();
  const bool is_typical = noise > 0 && typical.error.size() == evaluated.parts.error.size();
  return std::max(finalist.error,
                  std::sqrt(square * upper_bound_factor(is_typical ? typical : evaluated.parts)));
}

Result<double> Tuner::evaluate_error(Finalist& finalist) {
  SN_ASSIGN_OR_RETURN(ErrorParts parts, measure_error(finalist));
  evaluated_.push_back({finalist.selection, std::move(parts)});
  return error_upper_bound(finalist, evaluated_.back());
}

// Where the fastest path keeps the limit on all samples, but might not on others.
void Tuner::warn_of_scatter(const Finalist& fastest, double upper_bound) {
  const ErrorParts& parts = evaluated_[0].parts;
  const double measured = std::max(fastest.error, std::sqrt(parts.square()));
  if (measured > options_.max_error || upper_bound <= options_.max_error) return;
  warn(fmt::format(
      "the error of the fastest path is {:.3g} on the samples, but about {:.0f} of {} samples "
      "account for it; on other samples it may reach {:.3g} (limit {}): add calibration samples "
      "for "
      "a tighter estimate",
      measured, effective_sample_size(parts), parts.error.size(), upper_bound, options_.max_error));
}

// The fastest of two: the best finalist that keeps the limit, and the repaired best finalist. They
// are raced, since repairing minimises noise, not time. That race has its own time of default
// choices.
Result<Tuner::Finalist> Tuner::within_error(std::vector<Finalist> ranked, double& untuned_us) {
  const double limit = options_.max_error;
  if (limit <= 0) {
    SN_RETURN_IF_ERROR(measure_error(ranked[0]).status());
    return std::move(ranked[0]);
  }
  if (job_.held_back.size() == 1)
    warn("one sample alone was held back: the error of others may be above the limit");
  SN_RETURN_IF_ERROR(evaluate_error(ranked[0]).status());
  // The error of one path is a noisy estimate of per-sample error.
  if (evaluated_[0].parts.square() * kMaxFactor > limit * limit)
    SN_RETURN_IF_ERROR(measure_noise(ranked[0].selection));
  std::vector<Finalist> keeping;
  for (std::size_t f = 0; f < ranked.size() && keeping.empty(); ++f) {
    SN_ASSIGN_OR_RETURN(const double error, f == 0 ? error_upper_bound(ranked[0], evaluated_[0])
                                                   : evaluate_error(ranked[f]));
    if (f == 0) warn_of_scatter(ranked[0], error);
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
  keeping.push_back(default_finalist());
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
  const double noise = noise_of(worst.selection);
  double measured = error_upper_bound(worst, evaluated_.front());
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
    SN_ASSIGN_OR_RETURN(measured, evaluate_error(tried.back()));
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
