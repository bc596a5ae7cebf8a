#include "measure.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>

#include "random_inputs.h"

namespace softneuro::tool {
namespace {

// The tensors of the command line, and random ones for the rest.
Result<std::vector<Tensor>> all_inputs(const Plan& plan, const NamedTensors& given) {
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : plan.inputs()) {
    if (const auto tensor = given.find(info.name); tensor != given.end()) {
      inputs.push_back(tensor->second);
      continue;
    }
    auto random = random_input(info.type, info.shape.to_shape(), inputs.size());
    if (!random.ok()) return random.status();
    inputs.push_back(*std::move(random));
  }
  return inputs;
}

}  // namespace

int prepare_run(const NetArguments& arguments, std::optional<PreparedRun>& prepared) {
  auto net = open_net(arguments);
  if (!net.ok()) return fail(net.status());
  auto shapes = given_shapes(arguments);
  if (!shapes.ok()) return wrong_usage(shapes.status().message());
  auto given = read_inputs(arguments);
  if (!given.ok()) return fail(given.status());
  for (const auto& [name, tensor] : *given) (*shapes)[name] = tensor.shape();
  if (const std::string missing = settle_shapes(*net, arguments, *shapes); !missing.empty())
    return wrong_usage(missing);
  auto plan = net->plan(*shapes);
  if (!plan.ok()) return fail(plan.status());
  auto inputs = all_inputs(**plan, *given);
  if (!inputs.ok()) return fail(inputs.status());
  auto session = Session::create(*plan);
  if (!session.ok()) return fail(session.status());
  prepared =
      PreparedRun{*std::move(net), *std::move(plan), *std::move(inputs), *std::move(session)};
  return kDone;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double RunTimes::min_ms() const {
  return ms.empty() ? 0 : *std::min_element(ms.begin(), ms.end());
}

double RunTimes::quiet_ms() const {
  if (ms.empty()) return 0;
  std::vector<double> sorted = ms;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t skipped = sorted.size() / 4;
  const auto middle = std::span(sorted).subspan(skipped, sorted.size() - 2 * skipped);
  return std::accumulate(middle.begin(), middle.end(), 0.0) / static_cast<double>(middle.size());
}

Result<RunTimes> measure_runs(PreparedRun& run, double seconds) {
  using Clock = std::chrono::steady_clock;
  std::vector<Tensor> outputs(run.plan->outputs().size());
  for (int warm_up = 0; warm_up < 2; ++warm_up)
    if (Status status = run.session.run(run.inputs, outputs); !status.ok()) return status;
  RunTimes times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    const auto begin = Clock::now();
    if (Status status = run.session.run(run.inputs, outputs); !status.ok()) return status;
    times.ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  } while (Clock::now() < end);
  return times;
}

}  // namespace softneuro::tool
