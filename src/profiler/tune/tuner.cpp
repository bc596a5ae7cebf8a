#include "profiler/tune/tuner.h"

#include "core/base/error.h"
#include "profiler/measure/constants.h"
#include "profiler/tune/net_search.h"
#include "profiler/tune/tune_report.h"
#include "profiler/tune/tune_units.h"

namespace softneuro {
namespace {

// What one run of the chosen plan spends per step; zeros if it cannot run. A tuning that measured
// nothing does not spend more than it has to: one run.
std::vector<double> step_times(TuneContext& context, NetBench& bench, bool has_measured) {
  std::vector<double> times(bench.steps());
  StepSamples samples(bench.steps());
  const std::size_t runs = has_measured ? constants::kSamples : 1;
  for (std::size_t i = 0; i < runs && (i == 0 || !context.budget.expired()); ++i)
    if (!bench.run_traced(samples, context.barrier, context.budget).ok()) return times;
  for (std::size_t s = 0; s < times.size(); ++s) times[s] = samples.time_us(s);
  return times;
}

// What the net runs on if nothing is faster: its own path, or the default plan.
Finalist now_of(const TuneContext& context, const std::vector<Finalist>& finalists) {
  return finalists[finalists.size() - (context.known_path ? 2 : 1)];
}

}  // namespace

Result<TuneResult> tune(const TuneJob& job) {
  TuneContext context(job);
  UnitStage units(context);
  SN_RETURN_IF_ERROR(units.find_candidates());
  if (context.options.effort.pin_threads) context.barrier.pin_threads();
  context.forget_disturbed_rows();
  context.end_stage_at(constants::kIsolatedShare);
  SN_RETURN_IF_ERROR(units.profile());
  MemoryLimit memory(context);
  SN_RETURN_IF_ERROR(memory.find_bound());
  context.end_stage_at(constants::kInNetShare);
  SN_RETURN_IF_ERROR(NetSearch(context, memory).run());
  context.end_stage_at(job.validation.empty() ? 1 : constants::kFinalShare);
  SN_RETURN_IF_ERROR(memory.find_bound());  // times are others now
  SN_ASSIGN_OR_RETURN(std::vector<Finalist> finalists, find_finalists(context, memory));
  SN_RETURN_IF_ERROR(benchmark_finalists(context, finalists));
  TuneOutcome outcome;
  outcome.untuned_us = finalists.back().time_us;
  put_in_order(context, finalists, now_of(context, finalists));
  context.end_stage_at(1);
  ErrorLimit limit(context, memory);
  SN_ASSIGN_OR_RETURN(outcome.chosen, limit.choose(std::move(finalists), outcome.untuned_us));
  SN_ASSIGN_OR_RETURN(outcome.plan, context.plan_of(outcome.chosen.path));
  SN_ASSIGN_OR_RETURN(NetBench bench, NetBench::create(outcome.plan, job.inputs));
  outcome.counts = units.counts();
  outcome.step_us = step_times(context, bench, outcome.counts.measured + context.measured > 0);
  SN_ASSIGN_OR_RETURN(outcome.verified,
                      verify_path(context, outcome.plan, outcome.chosen.path, bench.outputs()));
  return make_result(context, outcome, limit);
}

}  // namespace softneuro
