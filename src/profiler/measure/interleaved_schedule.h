// How the runs of several plans are interleaved in a comparison.
#pragma once

#include <algorithm>

namespace softneuro {

// In each round every plan has a turn: some warm-up runs, then some measured ones. The warm-up runs
// fill the caches with what a plan keeps there in steady use and the other plans have evicted: the
// first runs after another plan are slower (docs/results/tuning.md).
struct InterleavedSchedule {
  int warmup = 0, measured = 1;  // runs of each turn
  int rounds = 1;

  static int rounds_in(double us, double round_us, int least, int most) {
    if (round_us <= 0) return most;
    return static_cast<int>(std::clamp(us / round_us, 1.0 * least, 1.0 * most));
  }

  // A schedule for about `us`; one run of every plan takes `run_us` together. `needs_warmup`:
  // whether a plan's time depends on what ran before. Each plan has at least about `least` measured
  // runs, and at most about `most`.
  static InterleavedSchedule in(double us, double run_us, int least, int most, bool needs_warmup) {
    constexpr InterleavedSchedule kThorough{3, 4};
    InterleavedSchedule schedule{needs_warmup ? 1 : 0, 1};
    if (needs_warmup && us >= run_us * least * kThorough.runs()) schedule = kThorough;
    schedule.rounds = rounds_in(us, run_us * schedule.runs(), least, most / schedule.measured);
    return schedule;
  }
  constexpr int runs() const { return warmup + measured; }
};

}  // namespace softneuro
