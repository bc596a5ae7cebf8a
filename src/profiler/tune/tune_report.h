// What tuning reports: one row per layer and adapt, in order (the paper's Table III), and the sums.
#pragma once

#include <memory>
#include <span>

#include "profiler/select/unit_profile.h"
#include "profiler/tune/error_limit.h"
#include "profiler/tune/path_verification.h"

namespace softneuro {

// How the stages ended.
struct TuneOutcome {
  Finalist chosen;
  std::shared_ptr<const Plan> plan;  // of its path
  std::vector<double> step_us;       // one run of it, by step
  double untuned_us = 0;
  Verified verified;
  UnitCounts counts;
};

TuneResult make_result(TuneContext& context, const TuneOutcome& outcome, const ErrorLimit& limit);

}  // namespace softneuro
