// Tuning never makes slower: what is not measured to be faster than the default plan is not kept.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/machine.h"
#include "core/dnn/file.h"
#include "core/plan/net_problems.h"
#include "core/plan/plan_impl.h"
#include "net/make_runtime.h"
#include "net/net_access.h"
#include "net/tuned_plan.h"
#include "profiler/select/candidates.h"
#include "profiler/tune/tuner.h"
#include "small_net.h"
#include "support/temporary_folder.h"
#include "timed_cumsum.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

NetOptions one_thread() {
  NetOptions options;
  options.threads = 1;
  return options;
}

// Convolutions that run in channels-last by default.
Graph conv_chain() {
  SmallNetBuilder b;
  TensorId x = b.input("image", DynamicShape(Shape{1, 16, 40, 40}));
  for (int l = 0; l < 4; ++l)
    x = b.unary("relu", "relu" + std::to_string(l),
                b.conv("conv" + std::to_string(l), x, l == 0 ? 16 : 32, 32, 3));
  b.graph.outputs = {x};
  return std::move(b.graph);
}

// However fast the machine is, the time is up with the first report of progress.
TuneOptions without_time() {
  TuneOptions options;
  options.cache.disabled = true;
  options.time_limit = std::chrono::milliseconds(1);
  options.progress = [](const TuneProgress&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  return options;
}

bool warns(const TuneReport& report, const std::string& text) {
  return std::ranges::any_of(report.warnings, [&](const std::string& warning) {
    return warning.find(text) != std::string::npos;
  });
}

// x [1 x 64] → three running sums, each by a routine that is the default and slow, or by another
// one that takes as long as a test says.
struct TimedNet {
  std::shared_ptr<Runtime> runtime = make_runtime(one_thread()).value();
  TimedCumsum* other = nullptr;
  TuneOptions options;
  TuneJob job;

  TimedNet() {
    auto& registry = const_cast<Registry&>(runtime->registry());
    const Routine& naive = *registry.find("cumsum", "cpu/naive");
    auto made = std::make_unique<TimedCumsum>("cpu/other", naive, 50);
    other = made.get();
    REQUIRE(registry.add(std::make_unique<TimedCumsum>("cpu/usual", naive, 200)).ok());
    REQUIRE(registry.add(std::move(made)).ok());
    SmallNetBuilder b;
    TensorId x = b.input("x", DynamicShape(Shape{1, 64}));
    Tensor axis = Tensor::create(DataType::int64, Shape{1}).value();
    axis.mutable_values<std::int64_t>()[0] = 1;
    const TensorId along = b.graph.add_constant("axis", std::move(axis));
    for (int l = 0; l < 3; ++l) x = b.layer("cumsum", "sum" + std::to_string(l), {x, along});
    b.graph.outputs = {x};
    options.cache.disabled = true;
    job.runtime = runtime;
    job.graph = finished(std::move(b.graph));
    job.shapes = {Shape{1, 64}};
    job.model = job.graph;
    job.is_model = true;
    job.inputs = {Tensor::create(DataType::float32, job.shapes[0]).value()};
    std::ranges::fill(job.inputs[0].mutable_values<float>(), 1.0f);
    job.options = &options;
  }

  // Where the other routine takes `us` as soon as finalists are compared.
  TuneResult tuned(std::int64_t us) {
    options.progress = [this, us](const TuneProgress& progress) {
      if (progress.stage == std::string("final")) other->take_from_now_on(us);
    };
    job.rules = rules_of(options);
    Result<TuneResult> result = tune(job);
    INFO(result.status().message());
    REQUIRE(result.ok());
    return *std::move(result);
  }
};

bool has_other(const TuneReport& report) {
  return std::ranges::any_of(report.layers,
                             [](const TunedLayer& layer) { return layer.routine == "cpu/other"; });
}

}  // namespace

TEST_CASE("tune: where nothing was measured the default plan stays as a whole, without times") {
  Net net = NetAccess::from_graph(conv_chain(), one_thread()).value();
  const std::string before = net.plan().value()->describe();
  const TuneReport report = net.tune(without_time()).value();
  CHECK_FALSE(report.complete);
  CHECK(report.untuned_us == 0);
  CHECK(report.tuned_us == 0);
  CHECK(warns(report, "the net keeps its default plan"));
  CHECK(net.plan().value()->describe() == before);
  REQUIRE(net.tuned_paths().size() == 1);
  CHECK(net.tuned_paths()[0].time_us == 0);
}

TEST_CASE("tune: a path that is faster end to end is kept") {
  const SettableClock clock;
  const TuneReport report = TimedNet().tuned(50).report;
  CHECK(has_other(report));
  CHECK(report.tuned_us < report.untuned_us / 3);
}

TEST_CASE("tune: a path that is not faster end to end is not kept, whatever its layers promise") {
  const SettableClock clock;
  for (const std::int64_t us : {200, 201, 300}) {
    INFO("µs of a layer: " << us);
    const TuneReport report = TimedNet().tuned(us).report;
    CHECK_FALSE(has_other(report));
    CHECK(report.tuned_us == report.untuned_us);
    CHECK(report.complete);
  }
}

TEST_CASE("tune: a slower path is kept where the caller leaves the default plan out, and told") {
  const SettableClock clock;
  TimedNet net;
  net.options.selection.avoid = {"cpu/usual"};
  const TuneReport report = net.tuned(300).report;
  CHECK(has_other(report));
  CHECK(report.tuned_us > report.untuned_us);
  CHECK(warns(report, "not measured to be faster than the default plan"));
}

TEST_CASE("tune: the tuned path of a net outlives a tuning that had no time") {
  const TemporaryFolder folder;
  const auto graph = finished(conv_chain());
  const auto runtime = make_runtime(one_thread()).value();
  const std::vector<Shape> shapes = {Shape{1, 16, 40, 40}};
  const NetProblems problems = infer_problems(runtime, graph, shapes).value();
  RoutinePath path;
  path.machine = machine_name(1);
  path.shapes = {{"image", shapes[0]}};
  path.schemas = {"cpu:float32"};
  path.time_us = 80;
  path.untuned_us = 100;
  for (const LayerCandidates& layer :
       list_candidates(runtime->routine_context(), problems, {{"cpu:float32"}, 8}).value())
    path.layers.emplace(layer.layer.layer->id, layer.candidates.back().choice());
  REQUIRE(save_dnn(*graph, folder.file("tuned.dnn"), std::span(&path, 1)).ok());
  Net net = Net::load(folder.file("tuned.dnn"), one_thread()).value();
  const std::string before = net.plan().value()->describe();
  const TuneReport report = net.tune(without_time()).value();
  CHECK(warns(report, "the net keeps the tuned path that it has"));
  CHECK(net.tuned_paths()[0].time_us == 80);
  CHECK(net.plan().value()->describe() == before);
}
