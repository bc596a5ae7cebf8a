// Integrated profiling: the whole net runs with per-step clocks, so that caches are as they will be
// (design, section 5).
#pragma once

#include "core/path.h"
#include "profiler/timer.h"
#include "profiler/unit_profile.h"

namespace softneuro {

struct StepTime {
  const Layer* layer = nullptr;  // of the plan's graph
  TensorId source = kNoTensor;   // adapts: the tensor of the original graph
  Format from, to;               // adapts: formats
  double time_us = 0;
};
struct NetProfile {
  std::shared_ptr<const Plan> plan;
  std::vector<StepTime> steps;
  double total_us = 0;  // of a run, the steps' clocks included
};

// A plan that is ready to run on given inputs, for measurements.
class NetBench {
 public:
  static Result<NetBench> create(std::shared_ptr<const Plan> plan, std::vector<Tensor> inputs);
  // One run; its time in microseconds.
  Result<double> run();
  // `runs` runs with clocks at every step: the low quartile per step.
  Result<NetProfile> profile(int runs, const TuneBudget& budget);
  const std::vector<Tensor>& outputs() const { return outputs_; }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }

 private:
  explicit NetBench(Session session) : session_(std::move(session)) {}
  std::shared_ptr<const Plan> plan_;
  Session session_;
  std::vector<Tensor> inputs_, outputs_;
};

// By sample, then by output: copies of what the plan gives.
Result<std::vector<std::vector<Tensor>>> outputs_of(std::shared_ptr<const Plan> plan,
                                                    const std::vector<std::vector<Tensor>>& samples,
                                                    Allocator& allocator);

}  // namespace softneuro
