// The finalists, end to end, interleaved.
#include <algorithm>
#include <cmath>

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
  return 2 * 1.253 / 0.6745 * spread_us / std::sqrt(std::max(samples, 1.0));
}

class Race {
 public:
  explicit Race(TuneContext& context) : context_(context) {}

  Status add(const Finalist& finalist);
  // Interleaves runs for about `us` in all.
  Status run(double us);
  Profile profile(std::size_t contender) const;

 private:
  struct Contender {
    NetBench bench;
    double run_us;  // about
    bool is_allowed;
    StepSamples steps;
    Samples samples, whole;  // `whole`: no thread was late at the end
  };
  // Default choices, mostly: they would take more time than all the others.
  bool is_beaten(const Contender& contender) const {
    if (busy_ || contender.whole.count() < constants::kFewestSamples) return false;
    return contender.whole.minimum() > constants::kBeaten * fastest_us_ || is_slower(contender);
  }
  // put_in_order() would put another one before it, by twice the fewest runs or more. Where there
  // are samples, their error may still refuse that one, so that the order of all counts.
  bool is_slower(const Contender& contender) const {
    if (!context_.job.references.empty()) return false;
    const auto wanted = static_cast<std::size_t>(2 * context_.times() * constants::kFewestRuns);
    const auto is_known = [&](const Contender& one) { return one.samples.count() >= wanted; };
    const double least_us =
        contender.samples.median() -
        uncertainty_us(contender.samples.spread(), static_cast<double>(contender.samples.count()));
    return is_known(contender) && std::ranges::any_of(contenders_, [&](const Contender& other) {
             return other.is_allowed && is_known(other) &&
                    least_us > (1 + constants::kLeastGain) * other.samples.median();
           });
  }
  bool is_decided() const {
    return std::ranges::count_if(contenders_, [this](const Contender& contender) {
             return !is_beaten(contender);
           }) < 2;
  }
  double round_us() const;
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

Status Race::add(const Finalist& finalist) {
  SN_ASSIGN_OR_RETURN(const auto plan, context_.plan_of(finalist.path));
  SN_ASSIGN_OR_RETURN(NetBench bench, NetBench::create(plan, context_.job.inputs));
  SN_RETURN_IF_ERROR(bench.run().status());
  SN_ASSIGN_OR_RETURN(const double us, bench.run());
  StepSamples steps(bench.steps());
  contenders_.push_back(
      {std::move(bench), us, is_allowed(context_, finalist), std::move(steps), {}, {}});
  return {};
}

// One run of each that is not beaten.
double Race::round_us() const {
  double sum = 0;
  for (const Contender& contender : contenders_)
    if (!is_beaten(contender)) sum += contender.run_us;
  return sum;
}

Status Race::run_turn(Contender& contender, const InterleavedSchedule& schedule) {
  SN_RETURN_IF_ERROR(contender.bench.warm_up(schedule.warmup));
  for (int i = 0; i < schedule.measured; ++i) {
    if (busy_) {
      SN_RETURN_IF_ERROR(
          contender.bench.run_traced(contender.steps, context_.barrier, context_.budget));
      continue;
    }
    SN_ASSIGN_OR_RETURN(const double us, contender.bench.run());
    contender.samples.add(us);
    fastest_us_ = std::min(fastest_us_, us);
    const PoolBurst burst(context_.job.core->pool());
    const bool alone = context_.barrier.synchronize();
    if (alone) contender.whole.add(us);
    disturbed_ += !alone;
    ++runs_;
  }
  return {};
}

// All of them, unless the time is up, then one, or one contender is left.
Status Race::run_rounds(const InterleavedSchedule& schedule) {
  for (int round = 0; round < schedule.rounds; ++round) {
    if (round > 0 && (context_.budget.expired() || is_decided())) break;
    for (Contender& contender : contenders_) {
      SN_RETURN_IF_ERROR(context_.check_cancel());
      if (!is_beaten(contender)) SN_RETURN_IF_ERROR(run_turn(contender, schedule));
    }
  }
  return {};
}

Status Race::run(double us) {
  const std::int64_t begin = clock_ns();
  // These show which finalists are beaten, and whether the machine is busy.
  SN_RETURN_IF_ERROR(run_rounds(
      {context_.needs_warmup() ? 1 : 0, 1, static_cast<int>(constants::kFewestSamples)}));
  busy_ = context_.barrier.disturbed() || disturbed_ * 2 > runs_;
  if (context_.budget.expired()) return {};
  const double left_us = us - static_cast<double>(clock_ns() - begin) * 1e-3;
  return run_rounds(InterleavedSchedule::in(left_us, round_us(), context_.needs_warmup()));
}

Profile Race::profile(std::size_t contender) const {
  const Contender& known = contenders_[contender];
  // What most runs take is what users get; low quartiles do not see what happens in most runs.
  return {.time_us = busy_ ? known.steps.sum_us() : known.samples.median(),
          .spread_us = known.samples.spread(),
          .samples = static_cast<double>(known.samples.count()),
          .disturbed = context_.barrier.disturbed()};
}

}  // namespace

double race_seconds(const TuneContext& context) {
  const std::size_t kinds = context.space.kinds().size();
  // The mixture is compared with each kind, and is often nearly the same plan as one.
  return constants::kRaceSeconds *
         (context.options.exhaustive ? context.times() : static_cast<double>(kinds));
}

Status race(TuneContext& context, std::vector<Finalist>& finalists) {
  std::string paths;
  for (const Finalist& finalist : finalists) paths += context.path_key(finalist.path) + '\n';
  const std::uint64_t digest = checksum(paths.data(), paths.size());
  const auto key = [&](const Finalist& finalist) {
    return fmt::format("end_to_end|{:x}|{}", digest, context.path_key(finalist.path));
  };
  const auto recall = [&](Finalist& finalist) {
    const Profile* const row = context.cache.find(key(finalist));
    if (row == nullptr) return false;
    finalist.time_us = row->time_us;
    finalist.uncertainty_us = uncertainty_us(row->spread_us, row->samples);
    return true;
  };
  if (std::ranges::all_of(finalists, recall)) {
    context.cached += finalists.size();
    return {};
  }
  Race race(context);
  for (std::size_t f = 0; f < finalists.size(); ++f) {
    context.report_progress("final", f, finalists.size());
    SN_RETURN_IF_ERROR(race.add(finalists[f]));
  }
  context.expect(race_seconds(context));
  SN_RETURN_IF_ERROR(race.run(1e6 * race_seconds(context)));
  for (std::size_t f = 0; f < finalists.size(); ++f)
    context.cache.put(key(finalists[f]), race.profile(f));
  // As the cache has it: finalists may be the same path.
  std::ranges::for_each(finalists, recall);
  context.measured += finalists.size();
  context.cache.flush();
  return {};
}

}  // namespace softneuro
