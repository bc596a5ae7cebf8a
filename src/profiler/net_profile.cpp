#include "profiler/net_profile.h"

#include "core/error.h"

namespace softneuro {

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

Result<NetProfile> NetBench::profile(int runs, const TuneBudget& budget) {
  const Plan::Impl& impl = plan_->impl();
  std::vector<Samples> samples(impl.steps.size());
  Samples totals;
  RunOptions options;
  options.cancel = budget.cancel;
  options.trace = [&](const StepTrace& trace) {
    samples[trace.index].add(static_cast<double>(trace.end_ns - trace.begin_ns) * 1e-3);
  };
  SN_RETURN_IF_ERROR(run().status());  // warms up
  for (int i = 0; i < runs && (i < 2 || !budget.expired()); ++i) {
    const std::int64_t begin = clock_ns();
    SN_RETURN_IF_ERROR(session_.run(inputs_, outputs_, options));
    totals.add(static_cast<double>(clock_ns() - begin) * 1e-3);
  }
  NetProfile profile;
  profile.plan = plan_;
  profile.total_us = totals.centre();
  for (std::size_t s = 0; s < impl.steps.size(); ++s) {
    const Step& step = impl.steps[s];
    StepTime time;
    time.layer = step.layer;
    time.time_us = samples[s].centre();
    if (step.layer->type->name == "adapt") {
      // The tensor keeps its id in the adapted graph: adapted ones come behind the original ones.
      time.source = step.inputs[0];
      time.from = impl.slots[step.inputs[0]].format;
      time.to = impl.slots[step.outputs[0]].format;
    }
    profile.steps.push_back(std::move(time));
  }
  return profile;
}

Result<std::vector<std::vector<Tensor>>> outputs_of(std::shared_ptr<const Plan> plan,
                                                    const std::vector<std::vector<Tensor>>& samples,
                                                    Allocator& allocator) {
  const std::size_t count = plan->outputs().size();
  SN_ASSIGN_OR_RETURN(Session session, Session::create(std::move(plan)));
  std::vector<std::vector<Tensor>> all;
  for (const std::vector<Tensor>& inputs : samples) {
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
