// Integrated profiling: the whole net runs with per-step clocks, so that caches are as they will be
// (docs/internals/measuring.md).
#pragma once

#include <functional>
#include <vector>

#include "core/plan/plan_impl.h"
#include "profiler/measure/budget.h"
#include "profiler/measure/pool_barrier.h"
#include "profiler/measure/timer.h"

namespace softneuro {

// Samples of runs with a clock at every step, by step. A barrier between steps makes each step
// begin with all threads running; samples at whose end a thread was preempted are kept apart.
class StepSamples {
 public:
  explicit StepSamples(std::size_t steps) : whole_(steps), any_(steps) {}
  void add(std::size_t step, double us, bool whole) {
    any_[step].add(us);
    if (whole) whole_[step].add(us);
  }
  std::size_t steps() const { return any_.size(); }
  double time_us(std::size_t step) const { return samples(step).centre(); }
  double sum_us() const;
  // By how much the sum scatters: half the distance between the quartiles where steps are slowed
  // down together, as noise is that takes longer than a step. From the lower half of the samples:
  // a step may be preempted in its middle, with all threads at once at its end.
  double spread_us() const;
  const Samples& samples(std::size_t step) const;

 private:
  std::vector<Samples> whole_, any_;
};

// A plan that is ready to run on given inputs, for measurements.
class NetBench {
 public:
  static Result<NetBench> create(std::shared_ptr<const Plan> plan, std::vector<Tensor> inputs);
  // One run; its time in microseconds.
  Result<double> run();
  Status warm_up(int runs);
  // One run with a clock at every step.
  Status run_traced(StepSamples& samples, PoolBarrier& barrier, const TuneBudget& budget);
  std::size_t steps() const { return impl_of(*plan_).steps.size(); }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }

 private:
  explicit NetBench(Session session) : session_(std::move(session)) {}
  std::shared_ptr<const Plan> plan_;
  Session session_;
  std::vector<Tensor> inputs_, outputs_;
};

// By sample, then by output: copies of what the plan gives. `inputs_of`: of each sample.
using InputsOf = std::function<Result<std::vector<Tensor>>(std::size_t)>;
Result<std::vector<std::vector<Tensor>>> outputs_of(std::shared_ptr<const Plan> plan,
                                                    std::size_t samples, const InputsOf& inputs_of,
                                                    Allocator& allocator);

}  // namespace softneuro
