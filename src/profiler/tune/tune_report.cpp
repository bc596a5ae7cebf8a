#include "profiler/tune/tune_report.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/plan/plan_impl.h"
#include "core/routine/layer_cost.h"
#include "net/tuned_plan.h"
#include "profiler/measure/constants.h"

namespace softneuro {
namespace {

// Why a layer is not computed in the other data types, and on the other devices, that tuning
// considered.
std::vector<NotChosen> not_chosen(const TuneContext& context, const ErrorLimit& limit,
                                  const std::set<Kind>& kinds, const Candidate& chosen,
                                  std::size_t layer) {
  std::vector<NotChosen> rows;
  const LayerCandidates& all = context.space.layers[layer];
  if (chosen.routine == nullptr) return rows;  // a view
  for (const Kind& kind : kinds) {
    if (kind == kind_of(chosen)) continue;
    NotChosen row;
    row.kind = fmt::format("{}:{}", kind.first.c_str(), to_string(kind.second));
    const Candidate* best = nullptr;
    for (const Candidate& candidate : all.candidates) {
      if (candidate.routine == nullptr || kind_of(candidate) != kind) continue;
      const bool better = best == nullptr || (best->wrong && !candidate.wrong) ||
                          (best->wrong == candidate.wrong && candidate.time_us() < best->time_us());
      if (better) best = &candidate;
    }
    if (best != nullptr) {
      const double us = best->time_us();
      const bool is_measured = std::isfinite(us) && !best->assumed && !chosen.assumed;
      row.routine = best->str();
      if (is_measured) row.time_us = us;
      row.reason = best->wrong                               ? NotChosen::Reason::wrong_results
                   : limit.is_put_back(chosen, layer, *best) ? NotChosen::Reason::error_limit
                   : !is_measured                            ? NotChosen::Reason::not_measured
                   : us >= chosen.time_us()                  ? NotChosen::Reason::slower
                                                             : NotChosen::Reason::whole_net;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// The index of the layer's candidate that the plan has; −1: a default choice that is none of them.
int taken_candidate(const LayerCandidates& layer, const Selection& selection, std::size_t index,
                    const PlanImpl& plan, const Step& step) {
  if (!selection.choice.empty()) return selection.choice[index];
  if (const auto choice = plan.choices.find(step.layer->id); choice != plan.choices.end())
    return layer.index_of(choice->second);
  Choice usual;
  usual.routine = step.routine_name;
  usual.params = step.params;
  usual.formats = formats_of(layer.layer.problem);
  return layer.index_of(usual);
}

TunedLayer row_of(const TuneContext& context, const ErrorLimit& limit, const Selection& selection,
                  const PlanImpl& plan, const Step& step) {
  TunedLayer row;
  row.layer = step.layer->name;
  row.type = step.layer->type->name;
  row.routine = step.routine_name;
  row.params = step.params.str();
  row.sources = step.layer->sources;
  const auto choice = plan.choices.find(step.layer->id);
  if (choice != plan.choices.end()) {
    row.formats = choice->second.formats.str();
    row.unit_us = choice->second.time_us;
  }
  const auto found = context.space.index_of.find(step.layer->id);
  if (found == context.space.index_of.end()) return row;
  const LayerCandidates& layer = context.space.layers[found->second];
  row.candidates = layer.candidates.size();
  row.fallback = layer.fallback;
  row.is_measured = std::ranges::none_of(layer.candidates, &Candidate::assumed);
  row.unit_us = 0;
  const int taken = taken_candidate(layer, selection, found->second, plan, step);
  if (taken < 0) return row;
  const Candidate& chosen = layer.candidates[static_cast<std::size_t>(taken)];
  if (row.is_measured && std::isfinite(chosen.isolated_us)) row.unit_us = chosen.isolated_us;
  row.not_chosen = not_chosen(context, limit, context.space.kinds(false), chosen, found->second);
  return row;
}

void add_layers(const TuneContext& context, const ErrorLimit& limit, const TuneOutcome& outcome,
                TuneReport& report) {
  double macs = 0, qint8_macs = 0;
  const PlanImpl& plan = impl_of(*outcome.plan);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    TunedLayer row = row_of(context, limit, outcome.chosen.selection, plan, step);
    row.time_us = outcome.step_us[s];
    if (const auto found = context.space.index_of.find(step.layer->id);
        found != context.space.index_of.end()) {
      const double layer_macs = layer_cost(context.space.layers[found->second].layer.problem).macs;
      macs += layer_macs;
      if (step.routine != nullptr && step.routine->descriptor().type == DataType::qint8)
        qint8_macs += layer_macs;
    }
    if (step.routine != nullptr) {
      const bool is_adapt = step.layer->type->is_adapt();
      report.time_by_schema_us[is_adapt ? "adapt" : step.routine->descriptor().schema()] +=
          row.time_us;
    }
    report.layers.push_back(std::move(row));
  }
  report.qint8_share = macs > 0 ? qint8_macs / macs : 0;
}

// Where the result is not faster than what the net runs on anyway.
void warn_of_no_gain(TuneContext& context, const TuneOutcome& outcome) {
  const Finalist& chosen = outcome.chosen;
  if (!chosen.is_default()) {
    if (!chosen.is_timed() || chosen.time_us >= outcome.untuned_us)
      context.warn(
          "the path was not measured to be faster than the default plan, which schemas, pins, "
          "max_memory or the error limit leave out");
    return;
  }
  if (context.complete && chosen.is_timed()) return;  // the report's times say it
  const bool has_tuned_path =
      context.known_path && context.path_key(chosen.path) == context.path_key(*context.known_path);
  context.warn(fmt::format(
      "{} in the time given: the net keeps {}",
      chosen.is_timed() ? "no faster path was found" : "no path was compared end to end",
      has_tuned_path ? "the tuned path that it has" : "its default plan"));
}

void add_warnings(TuneContext& context, const Finalist& chosen, TuneReport& report) {
  if (context.barrier.waited() > constants::kDisturbed)
    context.warn(fmt::format(
        "other processes used the CPUs for {:.0f} % of the tuning time; affected measurements were "
        "repeated or discarded: tune on an idle machine for better results",
        100 * context.barrier.waited()));
  if (chosen.errors.incomparable() > 0)
    context.warn(
        fmt::format("outputs have other shapes than float32's for {} of {} samples: the error says "
                    "nothing of these; give a score of your own",
                    chosen.errors.incomparable(), chosen.errors.samples()));
  report.warnings = context.warnings;
}

RoutinePath path_of(const TuneContext& context, const TuneOutcome& outcome) {
  const TuneJob& job = context.job;
  RoutinePath path = outcome.chosen.path;
  path.threads = job.runtime->pool().concurrency();
  path.machine = machine_of(path, job.runtime->registry(), path.threads);
  path.schemas = context.job.rules.schemas;
  if (outcome.chosen.is_timed()) {  // else the net's own path has those of its tuning
    path.time_us = outcome.chosen.time_us;
    path.untuned_us = outcome.untuned_us;
  }
  path.error = outcome.chosen.errors.value(ErrorMetric::relative_rms);
  for (std::size_t i = 0; i < job.shapes.size(); ++i)
    path.shapes.emplace(job.graph->tensor(job.graph->inputs[i]).name, job.shapes[i]);
  return path;
}

}  // namespace

const char* to_string(NotChosen::Reason reason) noexcept {
  switch (reason) {
    case NotChosen::Reason::no_routine:
      return "no routine";
    case NotChosen::Reason::wrong_results:
      return "wrong results";
    case NotChosen::Reason::not_measured:
      return "not measured";
    case NotChosen::Reason::error_limit:
      return "error limit";
    case NotChosen::Reason::slower:
      return "slower";
    case NotChosen::Reason::whole_net:
      break;
  }
  return "net slower or over the memory limit";
}

TuneResult make_result(TuneContext& context, const TuneOutcome& outcome, const ErrorLimit& limit) {
  const Finalist& chosen = outcome.chosen;
  const Sensitivity& sensitivity = limit.sensitivity();
  TuneResult result;
  result.least_error = std::isfinite(limit.least_error()) ? limit.least_error() : chosen.error;
  result.path = path_of(context, outcome);

  TuneReport& report = result.report;
  add_layers(context, limit, outcome, report);
  report.untuned_us = outcome.untuned_us;
  report.tuned_us = chosen.time_us;
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - context.job.begin).count();
  report.measured = outcome.counts.measured + context.measured + sensitivity.runs();
  report.from_cache = outcome.counts.from_cache + context.cached + sensitivity.from_cache();
  report.rejected = outcome.counts.rejected;
  report.gap = context.complete ? context.gap : 1;  // nothing is proven of what was not measured
  report.difference = outcome.verified.difference;
  report.verification_inputs = outcome.verified.inputs;
  report.verified_on_samples = context.job.has_samples;
  report.error = chosen.error;
  report.error_low = chosen.interval.low;
  report.error_high = chosen.interval.high;
  report.validation_samples = chosen.errors.samples();
  report.within_limit = limit.is_kept();
  report.agreement = chosen.errors.agreement();
  report.sensitivity = limit.rows(chosen);
  report.memory = plan_memory(*outcome.plan);
  report.complete = context.complete;
  report.machine = result.path.machine;
  report.threads = result.path.threads;
  warn_of_no_gain(context, outcome);
  add_warnings(context, chosen, report);
  return result;
}

}  // namespace softneuro
