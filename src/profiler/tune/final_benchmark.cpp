// The finalists, end to end, interleaved.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "profiler/measure/constants.h"
#include "profiler/measure/interleaved_schedule.h"
#include "profiler/measure/net_profile.h"
#include "profiler/tune/finalist.h"

namespace softneuro {
namespace {

// Two standard errors of a median, from half the distance between the quartiles (normal errors).
double uncertainty_us(double spread_us, double samples) {
  if (samples < constants::kFewestSamples) return INFINITY;
  return 2 * 1.253 / 0.6745 * spread_us / std::sqrt(samples);
}

// Half the distance between the quartiles; of few samples, which may agree by chance, of all.
double spread_us(const Samples& samples) {
  if (samples.count() >= 2 * constants::kFewestRuns) return samples.spread();
  return (samples.quantile(1) - samples.minimum()) / 2;
}

double uncertainty_us(const Samples& samples) {
  return uncertainty_us(spread_us(samples), static_cast<double>(samples.count()));
}

// False: the row says too little.
bool set_time(Finalist& finalist, const Profile& row) {
  finalist.uncertainty_us = uncertainty_us(row.spread_us, row.samples);
  finalist.time_us = finalist.is_timed() ? row.time_us : 0;
  return finalist.is_timed();
}

class FinalBenchmark {
 public:
  explicit FinalBenchmark(TuneContext& context) : context_(context) {}

  Status add(const Finalist& finalist);
  // Interleaves runs for about `us` in all.
  Status run(double us);
  Profile profile(std::size_t contender) const;

 private:
  struct Contender {
    NetBench bench;
    double run_us;  // about
    bool is_allowed;
    Samples samples, whole;  // `whole`: no thread was late at the end
    StepSamples steps;       // of traced runs
    int traced = 0;
  };
  // Default choices, mostly: they would take more time than all the others.
  bool is_beaten(const Contender& contender) const {
    if (busy_ || contender.whole.count() < constants::kFewestSamples) return false;
    const bool is_far = contender.whole.minimum() > constants::kBeaten * fastest_us_;
    const auto is_ahead = [&](const Contender& other) { return is_faster(other, contender); };
    return (is_far && std::ranges::any_of(contenders_, is_ahead)) || is_slower(contender);
  }
  // As is_faster() of finalists.
  static bool is_faster(const Contender& one, const Contender& other) {
    return one.samples.median() +
               std::hypot(uncertainty_us(one.samples), uncertainty_us(other.samples)) <
           other.samples.median();
  }
  // put_in_order() would put another one before it, by twice the fewest runs or more. Where there
  // are samples, their error may still refuse that one, so that the order of all counts.
  bool is_slower(const Contender& contender) const {
    if (!context_.job.references.empty()) return false;
    const auto wanted = static_cast<std::size_t>(2 * context_.times() * constants::kFewestRuns);
    const auto is_known = [&](const Contender& one) { return one.samples.count() >= wanted; };
    const double least_us = contender.samples.median() - uncertainty_us(contender.samples);
    return is_known(contender) && std::ranges::any_of(contenders_, [&](const Contender& other) {
             return other.is_allowed && is_known(other) && is_faster(other, contender) &&
                    least_us > (1 + constants::kLeastGain) * other.samples.median();
           });
  }
  bool is_decided() const {
    const auto is_left = [this](const Contender& contender) { return !is_beaten(contender); };
    return contenders_.size() > 1 && std::ranges::count_if(contenders_, is_left) < 2;
  }
  double round_us() const;
  bool needs_warmup(double us) const;
  Status run_turn(Contender& contender, const InterleavedSchedule& schedule);
  Status run_rounds(const InterleavedSchedule& schedule);

  TuneContext& context_;
  std::vector<Contender> contenders_;
  std::size_t runs_ = 0, disturbed_ = 0;
  // The machine is disturbed, or more than half of the runs are: sums of steps serve instead of
  // whole runs, which favour small tasks then, that one thread can do alone.
  bool busy_ = false;
  double fastest_us_ = INFINITY;
};

Status FinalBenchmark::add(const Finalist& finalist) {
  SN_ASSIGN_OR_RETURN(const auto plan, context_.plan_of(finalist.path));
  SN_ASSIGN_OR_RETURN(NetBench bench, NetBench::create(plan, context_.job.inputs));
  SN_RETURN_IF_ERROR(bench.run().status());
  SN_ASSIGN_OR_RETURN(const double us, bench.run());
  StepSamples steps(bench.steps());
  contenders_.push_back(
      {std::move(bench), us, is_allowed(context_, finalist), {}, {}, std::move(steps)});
  return {};
}

// One run of each that is not beaten.
double FinalBenchmark::round_us() const {
  double sum = 0;
  for (const Contender& contender : contenders_)
    if (!is_beaten(contender)) sum += contender.run_us;
  return sum;
}

Status FinalBenchmark::run_turn(Contender& contender, const InterleavedSchedule& schedule) {
  SN_RETURN_IF_ERROR(contender.bench.warm_up(schedule.warmup));
  for (int i = 0; i < schedule.measured; ++i) {
    if (busy_) {
      SN_RETURN_IF_ERROR(
          contender.bench.run_traced(contender.steps, context_.barrier, context_.budget));
      ++contender.traced;
      continue;
    }
    SN_ASSIGN_OR_RETURN(const double us, contender.bench.run());
    contender.samples.add(us);
    fastest_us_ = std::min(fastest_us_, us);
    const PoolBurst burst(context_.job.runtime->pool());
    const bool alone = context_.barrier.synchronize();
    if (alone) contender.whole.add(us);
    disturbed_ += !alone;
    ++runs_;
  }
  return {};
}

// All of them, unless the time is up or one contender is left.
Status FinalBenchmark::run_rounds(const InterleavedSchedule& schedule) {
  for (int round = 0; round < schedule.rounds; ++round) {
    if (context_.budget.expired() || is_decided()) break;
    for (Contender& contender : contenders_) {
      SN_RETURN_IF_ERROR(context_.check_cancelled());
      if (!is_beaten(contender)) SN_RETURN_IF_ERROR(run_turn(contender, schedule));
    }
  }
  return {};
}

Status FinalBenchmark::run(double us) {
  const std::int64_t begin = clock_ns();
  busy_ = context_.barrier.disturbed();
  if (!busy_) {
    // These show which finalists are beaten, and whether the machine is busy.
    SN_RETURN_IF_ERROR(
        run_rounds({needs_warmup(us) ? 1 : 0, 1, static_cast<int>(constants::kFewestSamples)}));
    busy_ = context_.barrier.disturbed() || disturbed_ * 2 > runs_;
  }
  const double left_us = us - static_cast<double>(clock_ns() - begin) * 1e-3;
  return run_rounds(InterleavedSchedule::in(left_us, round_us(), needs_warmup(left_us)));
}

// Weights that do not fit into the caches are partly there in steady use all the same: what decides
// is compared as it runs then, where the time suffices.
bool FinalBenchmark::needs_warmup(double us) const {
  const int runs = constants::kFewestRuns * (constants::kWarmUpRuns + constants::kTurnRuns);
  return context_.needs_warmup() || us >= runs * round_us();
}

Profile FinalBenchmark::profile(std::size_t contender) const {
  const Contender& known = contenders_[contender];
  Profile row;
  row.disturbed = context_.barrier.disturbed();
  if (busy_ && known.traced >= constants::kFewestRuns) {
    row.time_us = known.steps.sum_us();
    row.spread_us = known.steps.spread_us();
    row.samples = known.traced;
  } else if (!busy_) {
    // What most runs take is what users get; low quartiles do not see what happens in most runs.
    row.time_us = known.samples.median();
    row.spread_us = spread_us(known.samples);
    row.samples = static_cast<double>(known.samples.count());
  }
  return row;
}

}  // namespace

double final_seconds(const TuneContext& context) {
  const std::size_t kinds = context.space.kinds().size();
  // The mixture is compared with each kind, and is often nearly the same plan as one.
  return constants::kFinalSeconds *
         (context.options.effort.exhaustive ? context.times() : static_cast<double>(kinds));
}

Status benchmark_finalists(TuneContext& context, std::vector<Finalist>& finalists) {
  std::string paths;
  for (const Finalist& finalist : finalists) paths += context.path_key(finalist.path) + '\n';
  const std::uint64_t digest = checksum(paths.data(), paths.size());
  const auto key = [&](const Finalist& finalist) {
    return row_key(RowKind::path_time, digest, context.path_key(finalist.path));
  };
  const auto recall = [&](Finalist& finalist) {
    const Profile* const row = context.cache.find(key(finalist));
    return row != nullptr && set_time(finalist, *row);
  };
  if (std::ranges::all_of(finalists, recall)) {
    context.cached += finalists.size();
    return {};
  }
  for (Finalist& finalist : finalists) set_time(finalist, {});
  FinalBenchmark benchmark(context);
  for (std::size_t f = 0; f < finalists.size(); ++f) {
    if (context.budget.expired()) return {};
    context.report_progress("final", f, finalists.size());
    SN_RETURN_IF_ERROR(benchmark.add(finalists[f]));
  }
  context.expect(final_seconds(context));
  SN_RETURN_IF_ERROR(benchmark.run(1e6 * final_seconds(context)));
  std::map<RowKey, Profile> rows;  // finalists may be the same path
  for (std::size_t f = 0; f < finalists.size(); ++f) rows[key(finalists[f])] = benchmark.profile(f);
  for (Finalist& finalist : finalists) set_time(finalist, rows[key(finalist)]);
  context.measured += finalists.size();
  if (context.budget.expired()) return {};  // what was cut short decides no other tuning
  for (const auto& [row_key, row] : rows) context.cache.put(row_key, row);
  context.cache.flush();
  return {};
}

}  // namespace softneuro
