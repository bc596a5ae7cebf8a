// Which measurements were made while other processes slowed the machine down.
#pragma once

#include <map>
#include <vector>

#include "profiler/select/candidates.h"

namespace softneuro {

// SMT contention slows all threads for a second or so, so the barrier misses it. After each
// candidate of a layer the best one so far is re-timed as a control: its time there, compared with
// its time elsewhere, says how fast the machine was.
class ControlRuns {
 public:
  struct Disturbed {
    Candidate* candidate;
    double slowdown;  // times as long as at other times
  };

  // `control` took `us` right after `candidate`, which may be the same.
  void record(Candidate& candidate, const Candidate& control, double us);
  // `control` took `us` at some other time. Without effect if it never was a control.
  void record_again(const Candidate& control, double us);

  // The candidates whose control took at least kSlowControl times as long as at its fastest, in the
  // order of measurement.
  std::vector<Disturbed> disturbed() const;

 private:
  struct Run {
    Candidate* candidate;
    const Candidate* control;
    double us;
  };
  std::vector<Run> runs_;
  std::map<const Candidate*, double> least_us_;  // of each control
};

}  // namespace softneuro
