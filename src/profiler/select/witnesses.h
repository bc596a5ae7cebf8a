// Which measurements were made while something slowed the machine down.
#pragma once

#include <map>
#include <vector>

#include "profiler/select/candidates.h"

namespace softneuro {

// A neighbour that shares a processor's units may slow everything down for a second or so, and no
// thread is late for it. So right behind each candidate of a layer another one, its witness, is
// run: what it takes there and at other times says how fast the machine was.
class Witnesses {
 public:
  struct Slowed {
    Candidate* candidate;
    double slowdown;  // times as long as at other times
  };

  void clear();
  // `witness` took `us` right behind `candidate`, which may be the same.
  void hear(Candidate& candidate, const Candidate& witness, double us);
  // `witness` took `us` at some other time. Without effect if it never was one.
  void hear_again(const Candidate& witness, double us);

  bool is_witness(const Candidate& candidate) const { return least_us_.contains(&candidate); }
  bool is_first(const Candidate& candidate) const {
    return !heard_.empty() && heard_.front().witness == &candidate;
  }
  double least_us(const Candidate& witness) const { return least_us_.at(&witness); }
  // The candidates whose witness took at least kSlowed times as long as at other times, as
  // measured.
  std::vector<Slowed> slowed() const;

  static constexpr double kSlowed = 1.15;

 private:
  struct Heard {
    Candidate* candidate;
    const Candidate* witness;
    double us;
  };
  std::vector<Heard> heard_;
  std::map<const Candidate*, double> least_us_;  // of each witness
};

}  // namespace softneuro
