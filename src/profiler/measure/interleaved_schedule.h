// How the runs of several plans are interleaved in a comparison.
#pragma once

#include <algorithm>

#include "profiler/measure/constants.h"

namespace softneuro {

// In each round every plan has a turn: some warm-up runs, then some measured ones. The warm-up runs
// fill the caches with what a plan keeps there in steady use and the other plans have evicted: the
// first runs after another plan are slower (docs/results/tuning.md).
struct InterleavedSchedule {
  int warmup = 0, measured = 1;  // runs of each turn
  int rounds = 1;

  // A schedule for about `us`; one run of every plan takes `run_us` together. `needs_warmup`:
  // whether a plan's time depends on what ran before. Each plan has at least about kFewestRuns
  // measured runs, and at most about `times` kMostRuns.
  static InterleavedSchedule in(double us, double run_us, bool needs_warmup, int times = 1) {
    using namespace constants;
    InterleavedSchedule schedule{needs_warmup ? 1 : 0, 1};
    const double thorough_us = run_us * (kWarmUpRuns + kTurnRuns);
    if (needs_warmup && us >= kFewestRuns * thorough_us) schedule = {kWarmUpRuns, kTurnRuns};
    const int most = times * kMostRuns / schedule.measured;
    const double fit = run_us > 0 ? us / (run_us * schedule.runs()) : most;
    schedule.rounds = static_cast<int>(std::clamp(fit, 1.0 * kFewestRuns, 1.0 * most));
    return schedule;
  }
  constexpr int runs() const { return warmup + measured; }
};

}  // namespace softneuro
