#include "profiler/select/control_runs.h"

#include <algorithm>

#include "profiler/measure/constants.h"

namespace softneuro {

void ControlRuns::record(Candidate& candidate, const Candidate& control, double us) {
  runs_.push_back({&candidate, &control, us});
  double& least = least_us_.emplace(&control, us).first->second;
  least = std::min(least, us);
}

void ControlRuns::record_again(const Candidate& control, double us) {
  if (const auto known = least_us_.find(&control); known != least_us_.end())
    known->second = std::min(known->second, us);
}

std::vector<ControlRuns::Disturbed> ControlRuns::disturbed() const {
  std::vector<Disturbed> disturbed;
  for (const Run& run : runs_) {
    const double slowdown = run.us / least_us_.at(run.control);
    if (slowdown >= constants::kSlowControl) disturbed.push_back({run.candidate, slowdown});
  }
  return disturbed;
}

}  // namespace softneuro
