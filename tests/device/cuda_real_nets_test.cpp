// The networks of bench/generator, narrow, on the GPU from the first layer to the last.
// SOFTNEURO_NETS: the folder with their files.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "core/base/element.h"
#include "core/plan/plan_impl.h"
#include "device/split_nets.h"
#include "net/net_access.h"
#include "net/tuned_plan.h"
#include "profiler/tune/tuner.h"
#include "selection/default_path.h"
#include "softneuro/net.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

const DeviceId kCuda = *DeviceId::parse("cuda");

std::vector<std::filesystem::path> net_files() {
  std::vector<std::filesystem::path> files;
  const char* const folder = std::getenv("SOFTNEURO_NETS");
  if (folder == nullptr) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

SplitNet imported(const std::filesystem::path& file) {
  SplitNet net =
      split_net(file.stem().string(), NetAccess::graph(Net::import(file.string()).value()), {});
  // Images have a mean of 0 and a deviation of 1. A mask, and the numbers of one of two sentences,
  // are 0 or 1; that words are does no harm.
  for (Tensor& input : net.inputs) {
    const TensorView view = view_of(input);
    for (std::int64_t i = 0; i < view.elements(); ++i) {
      const double value = load(view, i);
      store(view, i, is_float(view.type) ? (value - 0.5) * std::sqrt(12) : std::fmod(value, 2));
    }
  }
  return net;
}

// What the plan computes on the host: layer types with their routines, and how often.
std::string steps_on_host(const Plan& plan) {
  std::map<std::string, int> steps;
  for (const Step& step : impl_of(plan).steps)
    if (step.kernel != nullptr && !step.layer->type->is_adapt() && step.device == 0)
      ++steps[step.layer->type->name + " " + step.routine_name];
  std::string text;
  for (const auto& [step, count] : steps) text += fmt::format("{} × {}\n", count, step);
  return text;
}

void check_on_gpu(const SplitNet& net, const std::shared_ptr<const Plan>& plan, double error) {
  CHECK(steps_on_host(*plan) == "");
  const std::vector<Tensor> expected = net.run(net.plan({})), outputs = net.run_repeatedly(plan);
  REQUIRE(outputs.size() == expected.size());
  for (std::size_t o = 0; o < outputs.size(); ++o)
    CHECK(relative_error(expected[o], outputs[o]) < error);
}

std::shared_ptr<const Plan> tuned(const SplitNet& net, const char* schema) {
  const TemporaryFolder cache;
  TuneOptions options;
  options.cache.folder = cache.path().string();
  options.schemas = {schema};
  options.time_limit = std::chrono::milliseconds(200);  // what was reached by then is chosen
  TuneJob job;
  job.runtime = net.runtime;
  job.graph = job.model = net.graph;
  job.is_model = true;
  job.shapes = net.shapes;
  job.inputs = net.inputs;
  job.verification_inputs = {job.inputs};
  job.options = &options;
  job.rules = rules_of(options);
  Result<TuneResult> result = tune(job);
  INFO(result.status().message());
  REQUIRE(result.ok());
  net.warnings->take();  // that little was measured
  const auto plan = build_plan(net.runtime, net.graph, net.shapes, result->path, nullptr);
  REQUIRE(plan.ok());
  return *plan;
}

}  // namespace

TEST_CASE("cuda nets: untuned for the GPU the bench's networks have no layer on the host",
          "[.nets]") {
  constexpr double kError = 1e-4;  // relative RMS
  const auto files = net_files();
  if (files.empty()) SN_SKIP("SOFTNEURO_NETS names no folder with networks");
  for (const auto& file : files) {
    CAPTURE(file.stem().string());
    const SplitNet net = imported(file);
    const auto path = default_path(net.runtime->routine_context(), net.problems(), {}, kCuda);
    REQUIRE(path.ok());
    check_on_gpu(net, net.plan(*path), kError);
  }
}

TEST_CASE("cuda nets: tuned for the GPU the bench's networks have no layer on the host",
          "[.nets]") {
  constexpr double kError = 1e-4;  // relative RMS
  constexpr double kOfHost = 4;    // other tensors are in float16, and rounding is chance
  const auto files = net_files();
  if (files.empty()) SN_SKIP("SOFTNEURO_NETS names no folder with networks");
  for (const auto& file : files) {
    CAPTURE(file.stem().string());
    const SplitNet net = imported(file);
    check_on_gpu(net, tuned(net, "cuda:float32"), kError);
    const std::vector<Tensor> expected = net.run(net.plan({}));
    const std::vector<Tensor> half = net.run(tuned(net, "cpu:float16"));
    double error = 0;
    for (std::size_t o = 0; o < half.size(); ++o)
      error = std::max(error, relative_error(expected[o], half[o]));
    CAPTURE(error);
    check_on_gpu(net, tuned(net, "cuda:float16"), kOfHost * error);
  }
}
