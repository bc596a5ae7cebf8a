// softneuro bench: how long one run takes, and which layers take it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "command.h"
#include "core/plan_impl.h"
#include "random_inputs.h"
#include "table.h"

namespace softneuro::tool {
namespace {

struct BenchArguments : NetArguments {
  double seconds = 3;
  bool profile = false;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Measured {
  std::vector<double> run_ms;
  std::vector<std::vector<double>> step_us;  // per step; empty without --profile
  std::vector<StepTrace> steps;
};

Status measure(Session& session, std::span<const Tensor> inputs, const BenchArguments& arguments,
               Measured& measured) {
  using Clock = std::chrono::steady_clock;
  std::vector<Tensor> outputs(session.plan().outputs().size());
  for (int warm_up = 0; warm_up < 2; ++warm_up)
    if (Status status = session.run(inputs, outputs); !status.ok()) return status;
  RunOptions options;
  if (arguments.profile)
    options.trace = [&](const StepTrace& trace) {
      if (measured.step_us.size() <= trace.index) {
        measured.step_us.emplace_back();
        measured.steps.push_back(trace);
      }
      measured.step_us[trace.index].push_back(static_cast<double>(trace.end_ns - trace.begin_ns) *
                                              1e-3);
    };
  const auto end = Clock::now() + std::chrono::duration<double>(arguments.seconds);
  do {
    const auto begin = Clock::now();
    if (Status status = session.run(inputs, outputs, options); !status.ok()) return status;
    measured.run_ms.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  } while (Clock::now() < end);
  return {};
}

std::string output_of(const Plan& plan, std::size_t s) {
  const Step& step = plan.impl().steps[s];
  if (step.dynamic || step.outputs.empty() || step.outputs[0] == kNoTensor) return "?";
  return plan.impl().slots[step.outputs[0]].shape.str();
}

void print_profile(const Plan& plan, const Measured& measured, double total_us) {
  Table table({"layer", "type", "routine", "output", ">median µs", ">%"});
  for (std::size_t s = 0; s < measured.steps.size(); ++s) {
    const double us = median(measured.step_us[s]);
    table.add({measured.steps[s].layer, measured.steps[s].layer_type, measured.steps[s].routine,
               output_of(plan, s), fmt::format("{:.1f}", us),
               fmt::format("{:.1f}", 100 * us / total_us)});
  }
  fmt::print("{}", table.str());
}

nlohmann::json profile_json(const Plan& plan, const Measured& measured) {
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t s = 0; s < measured.steps.size(); ++s)
    rows.push_back({{"layer", measured.steps[s].layer},
                    {"type", measured.steps[s].layer_type},
                    {"routine", measured.steps[s].routine},
                    {"output", output_of(plan, s)},
                    {"sources", plan.impl().steps[s].layer->sources},
                    {"median_us", median(measured.step_us[s])}});
  return rows;
}

int bench_net(const BenchArguments& arguments) {
  auto net = open_net(arguments);
  if (!net.ok()) return fail(net.status());
  auto shapes = given_shapes(arguments);
  if (!shapes.ok()) return wrong_usage(shapes.status().message());
  auto inputs = read_inputs(arguments);
  if (!inputs.ok()) return fail(inputs.status());
  for (const auto& [name, tensor] : *inputs) (*shapes)[name] = tensor.shape();
  if (const std::string missing = missing_sizes(*net, *shapes); !missing.empty())
    return wrong_usage(missing);
  auto plan = net->plan(*shapes);
  if (!plan.ok()) return fail(plan.status());
  std::vector<Tensor> ordered;
  for (const TensorInfo& info : (*plan)->inputs()) {
    if (const auto given = inputs->find(info.name); given != inputs->end()) {
      ordered.push_back(given->second);
      continue;
    }
    auto random = random_input(info.type, info.shape.to_shape(), ordered.size());
    if (!random.ok()) return fail(random.status());
    ordered.push_back(*std::move(random));
  }
  auto session = Session::create(*plan);
  if (!session.ok()) return fail(session.status());
  Measured measured;
  if (Status status = measure(*session, ordered, arguments, measured); !status.ok())
    return fail(status);

  const double median_ms = median(measured.run_ms);
  const double min_ms = *std::min_element(measured.run_ms.begin(), measured.run_ms.end());
  const MemoryReport memory = net->memory_report();
  if (arguments.json) {
    nlohmann::json report = {
        {"median_ms", median_ms},         {"min_ms", min_ms},
        {"runs", measured.run_ms.size()}, {"arena_bytes", (*plan)->arena_bytes()},
        {"weight_bytes", memory.weights}, {"packed_weight_bytes", memory.packed_weights}};
    if (arguments.profile) report["layers"] = profile_json(**plan, measured);
    fmt::print("{}\n", report.dump(2));
    return kDone;
  }
  if (arguments.profile) print_profile(**plan, measured, median_ms * 1e3);
  fmt::print(
      "median {:.3f} ms, min {:.3f} ms, {} runs; arena {:.1f} MiB, weights {:.1f} MiB, "
      "packed {:.1f} MiB\n",
      median_ms, min_ms, measured.run_ms.size(),
      static_cast<double>((*plan)->arena_bytes()) / 1048576,
      static_cast<double>(memory.weights) / 1048576,
      static_cast<double>(memory.packed_weights) / 1048576);
  return kDone;
}

}  // namespace

Command add_bench(CLI::App& app) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand("bench", "measure the latency of a net");
  add_net_option(*command, *arguments);
  add_shape_option(*command, *arguments);
  add_input_option(*command, *arguments);
  add_routine_options(*command, *arguments);
  command->add_option("--seconds", arguments->seconds, "how long to measure (default 3)")
      ->check(CLI::Range(0.0, 86400.0));
  command->add_flag("--profile", arguments->profile, "time per layer as well");
  return {command, [arguments] { return bench_net(*arguments); }};
}

}  // namespace softneuro::tool
