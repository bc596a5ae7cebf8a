#include "profiler/select/witnesses.h"

#include <algorithm>

namespace softneuro {

void Witnesses::clear() {
  heard_.clear();
  least_us_.clear();
}

void Witnesses::hear(Candidate& candidate, const Candidate& witness, double us) {
  heard_.push_back({&candidate, &witness, us});
  double& least = least_us_.emplace(&witness, us).first->second;
  least = std::min(least, us);
}

void Witnesses::hear_again(const Candidate& witness, double us) {
  if (const auto known = least_us_.find(&witness); known != least_us_.end())
    known->second = std::min(known->second, us);
}

std::vector<Witnesses::Slowed> Witnesses::slowed() const {
  std::vector<Slowed> slowed;
  for (const Heard& heard : heard_) {
    const double slowdown = heard.us / least_us_.at(heard.witness);
    if (slowdown >= kSlowed) slowed.push_back({heard.candidate, slowdown});
  }
  return slowed;
}

}  // namespace softneuro
