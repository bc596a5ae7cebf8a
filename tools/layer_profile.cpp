#include "layer_profile.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "core/plan/plan_impl.h"
#include "core/routine/format.h"

namespace softneuro::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFewestRuns = 3;

struct TracedRun {
  std::vector<StepSpan> spans;  // absolute
  std::int64_t begin_ns = 0, end_ns = 0;

  std::int64_t total_ns() const { return end_ns - begin_ns; }
};

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

// Nodes of the model; of layers that none stands for (adapt layers), those of the layer before.
std::vector<std::string> sources_of(const Graph& graph, const Layer& layer) {
  if (!layer.sources.empty() || layer.inputs.empty() || layer.inputs[0] == kNoTensor)
    return layer.sources;
  const std::int32_t before = graph.producers()[layer.inputs[0]];
  if (before < 0) return {graph.tensor(layer.inputs[0]).name};
  return graph.layers()[static_cast<std::size_t>(before)].sources;
}

// The format that all real tensors share which are not constant; else all of them.
std::string short_formats(const Problem& problem) {
  std::string common;
  for (const auto* specs : {&problem.inputs, &problem.outputs})
    for (const TensorSpec& spec : *specs) {
      if (!spec.present() || spec.constant || !is_real(spec.type)) continue;
      const std::string format = Format{spec.type, spec.layout}.str();
      if (!common.empty() && common != format) return formats_of(problem).str();
      common = format;
    }
  return common.empty() ? formats_of(problem).str() : common;
}

ProfileRow row_of(const PlanImpl& plan, const Step& step) {
  ProfileRow row;
  row.layer = step.layer->name;
  row.type = step.layer->type->name;
  row.routine = step.routine_name;
  row.params = step.params.str();
  row.sources = sources_of(*plan.graph, *step.layer);
  row.output = "?";
  if (const auto problem = problem_of(plan, *step.layer); problem.ok() && !step.data_dependent) {
    row.formats = short_formats(*problem);
    row.has_cost = true;
    row.cost = layer_cost(*problem);
    if (!problem->outputs.empty()) row.output = problem->outputs[0].shape.str();
  }
  return row;
}

// One run with clocks; its spans have one entry per step.
Result<TracedRun> run_traced(PreparedRun& run, std::vector<Tensor>& outputs) {
  TracedRun traced;
  traced.spans.resize(impl_of(*run.plan).steps.size());
  RunOptions options;
  options.trace = [&](const StepTrace& trace) {
    traced.spans[trace.index] = {trace.begin_ns, trace.end_ns};
  };
  traced.begin_ns = now_ns();
  Status status = run.session.run(run.inputs, outputs, options);
  traced.end_ns = now_ns();
  if (!status.ok()) return status;
  return traced;
}

// Sorts by total time and returns the middle half.
std::span<const TracedRun> quiet_half(std::vector<TracedRun>& runs) {
  std::sort(runs.begin(), runs.end(),
            [](const TracedRun& a, const TracedRun& b) { return a.total_ns() < b.total_ns(); });
  const std::size_t skipped = runs.size() / 4;
  return std::span(runs).subspan(skipped, runs.size() - 2 * skipped);
}

// `runs` sorted, `quiet` a part of it.
void fill_times(ProfileRow& row, std::size_t s, std::span<const TracedRun> runs,
                std::span<const TracedRun> quiet) {
  const auto us = [s](const TracedRun& run) {
    return static_cast<double>(run.spans[s].end_ns - run.spans[s].begin_ns) * 1e-3;
  };
  std::vector<double> all;
  for (const TracedRun& run : runs) all.push_back(us(run));
  row.min_us = *std::min_element(all.begin(), all.end());
  row.median_us = median(std::move(all));
  for (const TracedRun& run : quiet) row.us += us(run);
  row.us /= static_cast<double>(quiet.size());
}

void fill_timeline(NetProfile& profile, const TracedRun& run) {
  profile.run_ns = run.total_ns();
  for (const StepSpan& span : run.spans)
    profile.spans.push_back({span.begin_ns - run.begin_ns, span.end_ns - run.begin_ns});
}

}  // namespace

double NetProfile::agreement() const {
  const double whole_us = untraced.quiet_ms() * 1e3;
  return whole_us > 0 ? sum_us / whole_us : 0;
}

Result<NetProfile> profile_layers(PreparedRun& run, double seconds) {
  std::vector<Tensor> outputs(run.plan->outputs().size());
  for (int warm_up = 0; warm_up < 2; ++warm_up)
    if (Status status = run.session.run(run.inputs, outputs); !status.ok()) return status;

  NetProfile profile;
  std::vector<TracedRun> runs;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    const std::int64_t begin = now_ns();
    if (Status status = run.session.run(run.inputs, outputs); !status.ok()) return status;
    profile.untraced.ms.push_back(static_cast<double>(now_ns() - begin) * 1e-6);
    auto traced = run_traced(run, outputs);
    if (!traced.ok()) return traced.status();
    profile.traced.ms.push_back(static_cast<double>(traced->total_ns()) * 1e-6);
    runs.push_back(*std::move(traced));
  } while (Clock::now() < end || runs.size() < kFewestRuns);

  const std::span<const TracedRun> quiet = quiet_half(runs);
  const PlanImpl& plan = impl_of(*run.plan);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    profile.rows.push_back(row_of(plan, plan.steps[s]));
    fill_times(profile.rows.back(), s, runs, quiet);
    profile.sum_us += profile.rows.back().us;
  }
  fill_timeline(profile, runs[runs.size() / 2]);
  return profile;
}

}  // namespace softneuro::tool
