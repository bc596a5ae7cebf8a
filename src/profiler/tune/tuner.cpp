#include "profiler/tune/tuner.h"

#include "core/base/error.h"
#include "profiler/tune/net_search.h"
#include "profiler/tune/tune_report.h"
#include "profiler/tune/tune_units.h"

namespace softneuro {
namespace {

// Of a time limit, when the stages end: candidates alone, inside the net, whole paths. What is left
// is for the error limit and the verification.
constexpr double kAloneShare = 0.5, kInsideShare = 0.7, kRaceShare = 0.8;
// Runs of the chosen plan that the report's times come from, and for how long these go on between
// the two. A tuning that measured nothing does not spend more than it has to: one run.
constexpr int kMostRuns = 9, kFewestRuns = 3;
constexpr std::int64_t kEnoughNs = 100'000'000;

// What one run of the chosen plan spends per step; zeros if it cannot run.
std::vector<double> step_times(TuneContext& context, NetBench& bench, bool has_measured) {
  std::vector<double> times(bench.steps());
  StepSamples samples(bench.steps());
  const int fewest = has_measured ? kFewestRuns : 1;
  const std::int64_t begin = clock_ns();
  for (int i = 0; i < kMostRuns && (i < fewest || clock_ns() - begin < kEnoughNs); ++i)
    if (!bench.run_traced(samples, context.barrier, context.budget).ok()) return times;
  for (std::size_t s = 0; s < times.size(); ++s) times[s] = samples.time_us(s);
  return times;
}

}  // namespace

Result<TuneResult> tune(const TuneJob& job) {
  TuneContext context(job);
  UnitStage units(context);
  SN_RETURN_IF_ERROR(units.find_candidates());
  if (context.options.pin_threads) context.barrier.pin_threads();
  context.end_stage_at(kAloneShare);
  context.caches.set_residency_of(context.constant_bytes());
  SN_RETURN_IF_ERROR(units.profile());
  MemoryLimit memory(context);
  SN_RETURN_IF_ERROR(memory.find_bound());
  context.end_stage_at(kInsideShare);
  SN_RETURN_IF_ERROR(NetSearch(context, memory).run());
  context.end_stage_at(kRaceShare);
  SN_RETURN_IF_ERROR(memory.find_bound());  // times are others now
  SN_ASSIGN_OR_RETURN(std::vector<Finalist> finalists, find_finalists(context, memory));
  SN_RETURN_IF_ERROR(race(context, finalists));
  TuneOutcome outcome;
  outcome.untuned_us = finalists.back().time_us;
  put_in_order(context, finalists);
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
