// What it gains to choose the path of the whole net (DPRS) instead of each layer's fastest routine.
//
//   softneuro_selection_bench [--threads N] [--schemas LIST] [--rounds N] [--cache FOLDER] NET...
//
// Each candidate of each layer is measured alone, and each adapt that the solver asks about. From
// these times come two paths: `greedy` takes each layer's fastest candidate, and adapts lead from
// one format to the next; `dprs` is the solver's. A third one, `tuned`, is what the whole tuner
// finds. All of them and the default plan run in turns; times are medians in microseconds, ratios
// medians of a round's, in brackets their quartiles. NET: a .onnx or .dnn file.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "core/base/error.h"
#include "core/plan/runtime.h"
#include "net/net_access.h"
#include "profiler/measure/net_profile.h"
#include "profiler/tune/tune_units.h"
#include "softneuro/net.h"
#include "verify/random_inputs.h"

namespace softneuro::selection {
namespace {

struct Options {
  TuneOptions tune;
  int threads = 1;
  std::size_t rounds = 50;
  std::vector<std::string> nets;
};

struct Runner {
  const char* name;
  NetBench bench;
  std::vector<double> us = {};

  std::size_t adapts() const {
    const auto& steps = impl_of(*bench.plan()).steps;
    return static_cast<std::size_t>(std::ranges::count_if(
        steps, [](const Step& step) { return step.layer->type->is_adapt(); }));
  }
};

double quantile(std::vector<double> values, double q) {
  const auto nth = values.begin() + std::lround(q * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, nth);
  return *nth;
}

// Each layer's fastest candidate.
Selection greedy_of(const std::vector<LayerCandidates>& layers) {
  Selection selection;
  for (const LayerCandidates& layer : layers) {
    std::size_t best = 0;
    for (std::size_t c = 0; c < layer.candidates.size(); ++c)
      if (layer.candidates[c].is_usable() &&
          layer.candidates[c].isolated_us < layer.candidates[best].isolated_us)
        best = c;
    selection.choice.push_back(static_cast<int>(best));
  }
  return selection;
}

Result<std::vector<Tensor>> random_inputs_of(const Graph& graph, const std::vector<Shape>& shapes) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const TensorSpec spec{.type = graph.tensor(graph.inputs[i]).type, .shape = shapes[i]};
    SN_ASSIGN_OR_RETURN(inputs.emplace_back(), Tensor::create(spec.type, spec.shape));
    fill_random(spec, inputs.back());
  }
  return inputs;
}

void run_in_turns(std::vector<Runner>& runners, std::size_t rounds) {
  std::vector<std::size_t> order(runners.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::rotate(order.begin(), order.begin() + 1, order.end());
    for (const std::size_t i : order) {
      (void)runners[i].bench.run();  // its own weights and tensors are in the caches
      const Result<double> us = runners[i].bench.run();
      runners[i].us.push_back(us.ok() ? *us : INFINITY);
    }
  }
}

// The round's time of `a` over that of `b`.
std::string ratio(const Runner& a, const Runner& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.us.size(); ++i) ratios.push_back(a.us[i] / b.us[i]);
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", quantile(ratios, 0.5), quantile(ratios, 0.25),
                     quantile(ratios, 0.75));
}

void print(const std::string& name, const std::vector<Runner>& runners) {
  std::string line = "| " + name.substr(name.find_last_of('/') + 1);
  for (const Runner& runner : runners)
    line += fmt::format(" | {:.0f} ({})", quantile(runner.us, 0.5), runner.adapts());
  line += " | " + ratio(runners[1], runners[2]) + " | " + ratio(runners[1], runners[3]) + " |\n";
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
}

Status measure(const std::string& file, const Options& options) {
  NetOptions net_options;
  net_options.threads = options.threads;
  SN_ASSIGN_OR_RETURN(Net net, file.ends_with(".dnn") ? Net::load(file, net_options)
                                                      : Net::import(file, net_options));
  TuneJob job;
  job.runtime = NetAccess::runtime(net);
  job.options = &options.tune;
  job.rules = rules_of(options.tune);
  job.graph = std::make_shared<const Graph>(NetAccess::graph(net));
  job.model = job.graph;
  SN_ASSIGN_OR_RETURN(job.shapes, NetAccess::resolve_shapes(net, {}));
  SN_ASSIGN_OR_RETURN(job.inputs, random_inputs_of(*job.graph, job.shapes));
  job.verification_inputs = {job.inputs};

  std::vector<Runner> runners;
  const auto add = [&](const char* name,
                       const Result<std::shared_ptr<const Plan>>& plan) -> Status {
    SN_RETURN_IF_ERROR(plan.status());
    SN_ASSIGN_OR_RETURN(NetBench bench, NetBench::create(*plan, job.inputs));
    runners.push_back({name, std::move(bench)});
    return {};
  };
  TuneContext context(job);
  UnitStage units(context);
  SN_RETURN_IF_ERROR(units.find_candidates());
  SN_RETURN_IF_ERROR(units.profile());
  SN_RETURN_IF_ERROR(add("default", context.plan_of(context.default_path)));
  SN_ASSIGN_OR_RETURN(const RoutinePath greedy,
                      context.space.path_of(greedy_of(context.space.layers)));
  SN_RETURN_IF_ERROR(add("greedy", context.plan_of(greedy)));
  SN_ASSIGN_OR_RETURN(const Selections solved, context.space.select({}));
  SN_ASSIGN_OR_RETURN(const RoutinePath dprs, context.space.path_of(solved.paths[0]));
  SN_RETURN_IF_ERROR(add("dprs", context.plan_of(dprs)));
  SN_RETURN_IF_ERROR(net.tune(options.tune).status());
  SN_RETURN_IF_ERROR(add("tuned", net.plan()));
  run_in_turns(runners, options.rounds);
  print(file, runners);
  return {};
}

int main_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--threads") == 0 && has_value)
      options.threads = std::atoi(argv[++i]);
    else if (std::strcmp(argv[i], "--rounds") == 0 && has_value)
      options.rounds = static_cast<std::size_t>(std::max(1, std::atoi(argv[++i])));
    else if (std::strcmp(argv[i], "--cache") == 0 && has_value)
      options.tune.cache.folder = argv[++i];
    else if (std::strcmp(argv[i], "--schemas") == 0 && has_value)
      options.tune.schemas = {argv[++i]};
    else
      options.nets.emplace_back(argv[i]);
  }
  std::printf(
      "| net | default, µs (adapts) | fastest per layer | DPRS | tuned | per layer : DPRS | per "
      "layer : tuned |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  int failures = 0;
  for (const std::string& net : options.nets)
    if (const Status status = measure(net, options); !status.ok()) {
      std::fprintf(stderr, "%s: %s\n", net.c_str(), status.message().c_str());
      ++failures;
    }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace softneuro::selection

int main(int argc, char** argv) {
  return softneuro::selection::main_of(argc, argv);
}
