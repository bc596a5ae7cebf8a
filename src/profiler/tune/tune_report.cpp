// What tuning reports: one row per layer and adapt, in order (the paper's Table III), and the sums.
#include <algorithm>

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/routine/layer_cost.h"
#include "profiler/tune/tuner.h"

namespace softneuro {
namespace {

constexpr int kMostRuns = 9, kFewestRuns = 3;
constexpr std::int64_t kEnoughNs = 100'000'000;  // for the runs between the two
// Share of the tuning time that other processes took: less is not worth a warning.
constexpr double kLeastTold = 0.01;

}  // namespace

// What one run of the chosen plan spends per step; zeros if it cannot run. A tuning that measured
// nothing does not spend more than it has to.
std::vector<double> Tuner::step_times(NetBench& bench) {
  std::vector<double> times(bench.steps());
  StepSamples samples(bench.steps());
  const int fewest = units_.counts().measured + net_measured_ > 0 ? kFewestRuns : 1;
  const std::int64_t begin = clock_ns();
  for (int i = 0; i < kMostRuns && (i < fewest || clock_ns() - begin < kEnoughNs); ++i)
    if (!bench.run_traced(samples, barrier_, budget_).ok()) return times;
  for (std::size_t s = 0; s < times.size(); ++s) times[s] = samples.time_us(s);
  return times;
}

Result<TuneResult> Tuner::report(const Finalist& chosen, const std::shared_ptr<const Plan>& plan,
                                 std::span<const double> times, double untuned_us) {
  TuneResult result;
  result.least_error = std::isfinite(least_error_) ? least_error_ : chosen.error;
  result.path = chosen.path;
  result.path.threads = job_.core->pool().concurrency();
  result.path.machine = machine_of(chosen.path, job_.core->registry(), result.path.threads);
  result.path.schemas = options_.schemas;
  result.path.time_us = chosen.time_us;
  result.path.untuned_us = untuned_us;
  result.path.error = chosen.errors.value(ErrorMetric::relative_rms);
  for (std::size_t i = 0; i < job_.shapes.size(); ++i)
    result.path.shapes.emplace(job_.graph->tensor(job_.graph->inputs[i]).name, job_.shapes[i]);

  TuneReport& report = result.report;
  const std::set<Kind> allowed = kinds(false);
  double macs = 0, qint8_macs = 0;
  const PlanImpl& impl = impl_of(*plan);
  for (std::size_t s = 0; s < impl.steps.size(); ++s) {
    const Step& step = impl.steps[s];
    TunedLayer row;
    row.layer = step.layer->name;
    row.type = step.layer->type->name;
    row.routine = step.routine_name;
    row.params = step.params.str();
    row.sources = step.layer->sources;
    row.time_us = times[s];
    const auto choice = impl.choices.find(step.layer->id);
    if (choice != impl.choices.end()) {
      row.formats = choice->second.formats.str();
      row.unit_us = choice->second.time_us;
    }
    if (const auto found = layer_index_.find(step.layer->id); found != layer_index_.end()) {
      const LayerCandidates& layer = layers_[found->second];
      row.candidates = layer.candidates.size();
      const double layer_macs = layer_cost(layer.layer.problem).macs;
      macs += layer_macs;
      if (step.routine != nullptr && step.routine->descriptor().type == DataType::qint8)
        qint8_macs += layer_macs;
      row.fallback = layer.fallback;
      row.is_measured = std::none_of(layer.candidates.begin(), layer.candidates.end(),
                                     [](const Candidate& candidate) { return candidate.assumed; });
      const bool is_selected = !chosen.selection.choice.empty();
      row.unit_us = row.is_measured && is_selected
                        ? candidate_of(chosen.selection, found->second).unit_us
                        : 0;
      if (is_selected) row.not_chosen = not_chosen(allowed, chosen.selection, found->second);
    }
    if (step.routine != nullptr)
      report
          .time_by_schema_us[step.layer->type->is_adapt() ? "adapt"
                                                          : step.routine->descriptor().schema()] +=
          row.time_us;
    report.layers.push_back(std::move(row));
  }
  report.qint8_share = macs > 0 ? qint8_macs / macs : 0;
  report.untuned_us = untuned_us;
  report.tuned_us = chosen.time_us;
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - job_.begin).count();
  report.measured = units_.counts().measured + net_measured_ + sensitivity_.runs();
  report.from_cache = units_.counts().from_cache + net_from_cache_ + sensitivity_.from_cache();
  report.rejected = units_.counts().rejected;
  report.gap = complete_ ? gap_ : 1;  // nothing is proven of what was not measured
  report.difference = difference_;
  report.verification_inputs = verified_;
  report.verified_on_samples = job_.has_samples;
  report.error = chosen.error;
  report.error_low = chosen.interval.low;
  report.error_high = chosen.interval.high;
  report.validation_samples = chosen.errors.samples();
  report.within_limit = is_limit_kept_;
  report.agreement = 1 - chosen.errors.value(ErrorMetric::top1);
  report.sensitivity = sensitivity_rows(chosen);
  report.memory = plan_memory(*plan);
  report.complete = complete_;
  report.machine = result.path.machine;
  report.threads = result.path.threads;
  if (barrier_.disturbed() && barrier_.waited() >= kLeastTold)
    warn(fmt::format(
        "other processes used the CPUs for {:.0f} % of the tuning time; affected measurements were "
        "repeated or discarded: tune on an idle machine for better results",
        100 * barrier_.waited()));
  if (chosen.errors.incomparable() > 0)
    warn(
        fmt::format("outputs have other shapes than float32's for {} of {} samples: the error says "
                    "nothing of these; give a score of your own",
                    chosen.errors.incomparable(), chosen.errors.samples()));
  report.warnings = warnings_;
  return result;
}

}  // namespace softneuro
