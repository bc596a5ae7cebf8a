// The finalists, end to end, interleaved.
#include <algorithm>
#include <cmath>

#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "profiler/tune/tuner.h"

namespace softneuro {
namespace {

// Finalists run for about this long, all together; so many times as long as there are kinds of
// candidates. The mixture is compared with each of them, and is often nearly the same plan as one.
constexpr double kRaceUs = 1'200'000;
constexpr int kFewestRuns = 5;  // of each finalist
constexpr int kQualifyingRounds =
    3;                           // show which finalists are beaten, and whether the machine is busy
constexpr double kBeaten = 1.5;  // times the fastest: not run any further
// Two standard errors of a median, from half the distance between the quartiles (normal errors).
constexpr double kTwoErrors = 2 * 1.253 / 0.6745;

}  // namespace

struct Tuner::Race {
  struct Contender {
    NetBench bench;
    double run_us;  // about
    StepSamples steps;
    Samples samples, whole;  // `whole`: no thread was late at the end
  };
  std::vector<Contender> contenders;
  std::size_t runs = 0, disturbed = 0;
  // More than half of the runs are disturbed: sums of steps serve instead of whole runs.
  bool busy = false;
  double fastest_us = INFINITY;

  // Default choices, mostly: they would take more time than all the others.
  bool is_beaten(const Contender& contender) const {
    return !busy && contender.whole.count() >= kQualifyingRounds &&
           contender.whole.minimum() > kBeaten * fastest_us;
  }
  bool is_decided() const {
    return std::ranges::count_if(contenders, [this](const Contender& contender) {
             return !is_beaten(contender);
           }) < 2;
  }
  // One run of each that is not beaten.
  double round_us() const {
    double sum = 0;
    for (const Contender& contender : contenders)
      if (!is_beaten(contender)) sum += contender.run_us;
    return sum;
  }
  double time_us(const Contender& contender) const {
    // What most runs take is what users get; low quartiles do not see what happens in most runs.
    return busy ? contender.steps.sum_us() : contender.samples.median();
  }
};

Result<Tuner::Race> Tuner::make_race(const std::vector<Finalist>& finalists) {
  Race race;
  for (std::size_t f = 0; f < finalists.size(); ++f) {
    report_progress("final", f, finalists.size());
    SN_ASSIGN_OR_RETURN(const auto plan,
                        build_plan(job_.core, job_.graph, job_.shapes, finalists[f].path, nullptr));
    SN_ASSIGN_OR_RETURN(NetBench bench, NetBench::create(plan, job_.inputs));
    SN_RETURN_IF_ERROR(bench.run().status());
    SN_ASSIGN_OR_RETURN(const double us, bench.run());
    StepSamples steps(bench.steps());
    race.contenders.push_back({std::move(bench), us, std::move(steps), {}, {}});
  }
  return race;
}

Status Tuner::run_turn(Race& race, std::size_t contender, const InterleavedSchedule& schedule) {
  Race::Contender& r = race.contenders[contender];
  SN_RETURN_IF_ERROR(r.bench.warm_up(barrier_, schedule.warmup));
  for (int i = 0; i < schedule.measured; ++i) {
    if (race.busy) {
      SN_RETURN_IF_ERROR(r.bench.run_traced(r.steps, barrier_, budget_));
      continue;
    }
    SN_ASSIGN_OR_RETURN(const double us, r.bench.run());
    r.samples.add(us);
    race.fastest_us = std::min(race.fastest_us, us);
    const PoolBurst burst(job_.core->pool());
    const bool alone = barrier_.synchronize();
    if (alone) r.whole.add(us);
    race.disturbed += !alone;
    ++race.runs;
  }
  return {};
}

// All of them, unless the time is up, then one, or one contender is left.
Status Tuner::run_rounds(Race& race, const InterleavedSchedule& schedule) {
  for (int round = 0; round < schedule.rounds; ++round) {
    if (round > 0 && (budget_.expired() || race.is_decided())) break;
    for (std::size_t r = 0; r < race.contenders.size(); ++r) {
      SN_RETURN_IF_ERROR(check_cancel(budget_.cancel));
      if (!race.is_beaten(race.contenders[r])) SN_RETURN_IF_ERROR(run_turn(race, r, schedule));
    }
  }
  return {};
}

// Interleaves runs of the finalists; fills in their times. The cache knows races as a whole: times
// of different hours are not compared.
Status Tuner::race(std::vector<Finalist>& finalists) {
  std::string paths;
  for (const Finalist& finalist : finalists) paths += path_key(finalist.path) + '\n';
  const std::uint64_t digest = checksum(paths.data(), paths.size());
  const auto key = [&](const Finalist& finalist) {
    return fmt::format("end_to_end|{:x}|{}", digest, path_key(finalist.path));
  };
  const auto recall = [&](Finalist& finalist) {
    const Profile* const row = cache_.find(key(finalist));
    if (row == nullptr) return false;
    finalist.time_us = row->time_us;
    finalist.uncertainty_us = kTwoErrors * row->spread_us / std::sqrt(std::max(row->samples, 1.0));
    return true;
  };
  if (std::ranges::all_of(finalists, recall)) {
    net_from_cache_ += finalists.size();
    return {};
  }
  SN_ASSIGN_OR_RETURN(Race race, make_race(finalists));
  const double us = kRaceUs * (options_.exhaustive ? 4 : static_cast<double>(kinds().size()));
  const std::int64_t begin = clock_ns();
  SN_RETURN_IF_ERROR(run_rounds(race, {needs_warmup() ? 1 : 0, 1, kQualifyingRounds}));
  race.busy = race.disturbed * 2 > race.runs;
  const double left_us = us - static_cast<double>(clock_ns() - begin) * 1e-3;
  SN_RETURN_IF_ERROR(run_rounds(
      race, InterleavedSchedule::in(left_us, race.round_us(), kFewestRuns - kQualifyingRounds, 101,
                                    needs_warmup())));
  for (std::size_t f = 0; f < finalists.size(); ++f)
    cache_.put(key(finalists[f]),
               {.time_us = race.time_us(race.contenders[f]),
                .spread_us = race.contenders[f].samples.spread(),
                .samples = static_cast<double>(race.contenders[f].samples.count())});
  // As the cache has it: finalists may be the same path.
  std::ranges::for_each(finalists, recall);
  net_measured_ += finalists.size();
  cache_.flush();
  return {};
}

}  // namespace softneuro
