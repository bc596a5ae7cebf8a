#include "profiler/measure/net_profile.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "profiler/measure/constants.h"

namespace softneuro {

// Where nearly all samples of a step were disturbed, all of them count.
const Samples& StepSamples::samples(std::size_t step) const {
  return whole_[step].count() >= std::min(constants::kFewestSamples, any_[step].count())
             ? whole_[step]
             : any_[step];
}

double StepSamples::sum_us() const {
  double sum = 0;
  for (std::size_t s = 0; s < steps(); ++s) sum += time_us(s);
  return sum;
}

double StepSamples::spread_us() const {
  double spread = 0;
  for (std::size_t s = 0; s < steps(); ++s) spread += samples(s).median() - samples(s).centre();
  return spread;
}

Result<NetBench> NetBench::create(std::shared_ptr<const Plan> plan, std::vector<Tensor> inputs) {
  SN_ASSIGN_OR_RETURN(Session session, Session::create(plan));
  NetBench bench(std::move(session));
  bench.outputs_.resize(plan->outputs().size());
  bench.plan_ = std::move(plan);
  bench.inputs_ = std::move(inputs);
  return bench;
}

Result<double> NetBench::run() {
  const std::int64_t begin = clock_ns();
  SN_RETURN_IF_ERROR(session_.run(inputs_, outputs_));
  return static_cast<double>(clock_ns() - begin) * 1e-3;
}

Status NetBench::warm_up(int runs) {
  const PoolBurst burst(impl_of(*plan_).runtime->pool());
  for (int i = 0; i < runs; ++i) SN_RETURN_IF_ERROR(run().status());
  return {};
}

Status NetBench::run_traced(StepSamples& samples, PoolBarrier& barrier, const TuneBudget& budget) {
  RunOptions options;
  options.cancel = budget.cancel;
  options.trace = [&](const StepTrace& trace) {
    const bool whole = barrier.synchronize();
    samples.add(trace.index, static_cast<double>(trace.end_ns - trace.begin_ns) * 1e-3, whole);
  };
  const PoolBurst burst(impl_of(*plan_).runtime->pool());
  barrier.synchronize();
  return session_.run(inputs_, outputs_, options);
}

Result<std::vector<std::vector<Tensor>>> outputs_of(std::shared_ptr<const Plan> plan,
                                                    std::size_t samples, const InputsOf& inputs_of,
                                                    Allocator& allocator) {
  const std::size_t count = plan->outputs().size();
  SN_ASSIGN_OR_RETURN(Session session, Session::create(std::move(plan)));
  std::vector<std::vector<Tensor>> all;
  for (std::size_t s = 0; s < samples; ++s) {
    SN_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, inputs_of(s));
    std::vector<Tensor> outputs(count);
    SN_RETURN_IF_ERROR(session.run(inputs, outputs));
    for (Tensor& output : outputs) {
      SN_ASSIGN_OR_RETURN(output, output.clone(allocator));
    }
    all.push_back(std::move(outputs));
  }
  return all;
}

}  // namespace softneuro
