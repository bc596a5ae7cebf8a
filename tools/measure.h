// What commands that measure share: a net planned, with inputs and a session, and its run times.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "command.h"

namespace softneuro::tool {

struct PreparedRun {
  Net net;
  std::shared_ptr<const Plan> plan;
  std::vector<Tensor> inputs;  // in the plan's order
  Session session;
};

// Opens the net, plans it for --shape and --input, fills the inputs that are not given with random
// numbers. Where that fails it says so on standard error and returns the exit status, else kDone.
int prepare_run(const NetArguments& arguments, std::optional<PreparedRun>& prepared);

// The middle one, the upper of two; 0 of none.
double median(std::vector<double> values);

struct RunTimes {
  std::vector<double> ms;  // one per run, in order
  double median_ms() const { return median(ms); }
  double min_ms() const;
  // Mean of the middle half by length: unlike medians, such means of parts and wholes add up.
  double quiet_ms() const;
};

// Runs twice unmeasured, then for `seconds`, at least once.
Result<RunTimes> measure_runs(PreparedRun& run, double seconds);

}  // namespace softneuro::tool
