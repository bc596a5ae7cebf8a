// How plans take turns in a comparison.
#pragma once

#include <algorithm>

namespace softneuro {

// In each round every plan has a turn: some runs that bring into the caches what it keeps there
// when it runs again and again (the other plans have driven it out), then some that count. With
// eight plans of squeezenet1_1 the first run behind another plan takes 1.21 times as long as the
// twelfth, the second 1.10, the third 1.04, the fourth 1.02; convolutions that read their weights
// several times are hit harder than others.
struct Turns {
  int settling = 0, counted = 1;  // runs of each turn
  int rounds = 1;

  static int rounds_in(double us, double round_us, int least, int most) {
    if (round_us <= 0) return most;
    return static_cast<int>(std::clamp(us / round_us, 1.0 * least, 1.0 * most));
  }

  // Turns for about `us`; one run of each plan takes `run_us`, all together. `settled`: whether
  // what ran before makes a difference. Each plan has about `least` runs that count or more, and at
  // most about `most`.
  static Turns in(double us, double run_us, int least, int most, bool settled) {
    constexpr Turns kThorough{3, 4};
    Turns turns{settled ? 1 : 0, 1};
    if (settled && us >= run_us * least * kThorough.runs()) turns = kThorough;
    turns.rounds = rounds_in(us, run_us * turns.runs(), least, most / turns.counted);
    return turns;
  }
  constexpr int runs() const { return settling + counted; }
};

}  // namespace softneuro
