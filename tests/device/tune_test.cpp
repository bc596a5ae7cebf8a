// Tuning puts layers where they are fastest, copies counted: as a brute-force solution does.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "core/layers/builtin_layers.h"
#include "core/plan/net_problems.h"
#include "device/split_nets.h"
#include "device/test_device.h"
#include "net/tuned_plan.h"
#include "profiler/select/search_space.h"
#include "profiler/tune/tuner.h"
#include "support/graph_evaluator.h"
#include "support/rounding_matmul.h"
#include "support/settable_clock.h"
#include "support/simple_routine.h"
#include "support/temporary_folder.h"
#include "tuning/small_net.h"

namespace softneuro {
Status register_routine_matmul_cpu_naive(Registry& registry);
}

using namespace softneuro;
using namespace softneuro::test;

namespace {

using Times = std::map<std::string, double>;  // of layers, microseconds

// matmul on the host, in a time that is known.
class SlowKernel final : public Kernel {
 public:
  SlowKernel(std::unique_ptr<Kernel> work, double us) : work_(std::move(work)), us_(us) {}
  Status run(Context& context) const noexcept override {
    SettableClock::pass_us(us_);
    return work_->run(context);
  }

 private:
  std::unique_ptr<Kernel> work_;
  double us_;
};

class SlowMatmul final : public SimpleRoutine {
 public:
  explicit SlowMatmul(Times times)
      : SimpleRoutine("matmul", "cpu/slow"), times_(std::move(times)) {}
  RoutineFacts facts() const override { return {.default_rank = 1}; }
  Result<std::unique_ptr<Kernel>> create(const Problem& problem,
                                         const RoutineContext& context) const override {
    SN_ASSIGN_OR_RETURN(
        const ImplementationPtr naive,
        context.implement(*context.registry().find("matmul", "cpu/naive"), problem));
    SN_ASSIGN_OR_RETURN(auto work, naive->create({}));
    return std::unique_ptr<Kernel>(
        std::make_unique<SlowKernel>(std::move(work), times_.at(problem.layer_name)));
  }

 private:
  Times times_;
};

// A chain of eight products. Host and device never work at the same time there, which brute force
// does not know of. No two pose the same problem, so that each has times of its own.
std::shared_ptr<const Graph> products() {
  SmallNetBuilder b;
  TensorId last = b.input("x", DynamicShape(Shape{1, 8}));
  for (std::int64_t i = 0; i < 8; ++i) {
    const std::string name = "chain" + std::to_string(i);
    last = b.layer("matmul", name, {last, b.weights(name + ".w", {8 + i, 9 + i})});
  }
  b.graph.outputs = {last};
  return finished(std::move(b.graph));
}

constexpr double kCopyUs = 1000;

// Layers of `graph`, one bit each, that are on the device in the fastest split; `lead`: how many
// times as long the second fastest takes.
std::uint32_t fastest_split(const Graph& graph, const Times& host, const Times& device,
                            double& lead) {
  const auto& layers = graph.layers();
  const std::vector<std::int32_t> producers = graph.producers();
  double best = INFINITY, second = INFINITY;
  std::uint32_t split = 0;
  for (std::uint32_t bits = 0; bits < 1u << layers.size(); ++bits) {
    const auto is_there = [&](std::int32_t layer) {
      return layer >= 0 && (bits >> layer & 1) != 0;
    };
    double us = 0;
    std::set<std::pair<TensorId, bool>> copies;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const bool here = is_there(static_cast<std::int32_t>(l));
      us += (here ? device : host).at(layers[l].name);
      const TensorId input = layers[l].inputs[0];
      if (is_there(producers[input]) != here) copies.emplace(input, here);
    }
    for (const TensorId output : graph.outputs)
      if (is_there(producers[output])) copies.emplace(output, false);
    us += kCopyUs * static_cast<double>(copies.size());
    if (us < best) {
      second = best;
      best = us;
      split = bits;
    } else {
      second = std::min(second, us);
    }
  }
  lead = second / best;
  return split;
}

std::shared_ptr<Runtime> runtime_of(const Times& host, const std::shared_ptr<TestControl>& control,
                                    ThreadPool& pool) {
  Registry registry(builtin_layer_types());
  REQUIRE(register_routine_matmul_cpu_naive(registry).ok());
  REQUIRE(registry.add(std::make_unique<SlowMatmul>(host)).ok());
  control->delay_us = 0;
  REQUIRE(add_test_device(registry, control).ok());
  return std::make_shared<Runtime>(Runtime::Parts{.libraries = {},
                                                  .registry = std::move(registry),
                                                  .allocator = &default_allocator(),
                                                  .owned_pool = nullptr,
                                                  .pool = &pool,
                                                  .log = {},
                                                  .schemas = {}});
}

TuneResult tune(const std::shared_ptr<Runtime>& runtime, const std::shared_ptr<const Graph>& graph,
                const TemporaryFolder& cache) {
  TuneOptions options;
  options.cache.folder = cache.path().string();
  options.schemas = {"cpu", "test"};
  TuneJob job;
  job.runtime = runtime;
  job.graph = job.model = graph;
  job.is_model = true;
  job.shapes = {Shape{1, 8}};
  job.inputs = {random_image(3, {1, 8})};
  job.verification_inputs = {job.inputs};
  job.options = &options;
  job.rules = rules_of(options);
  Result<TuneResult> result = tune(job);
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(result).value();
}

std::uint32_t tuned_split(const std::shared_ptr<const Graph>& graph, const Times& host,
                          const Times& device) {
  const auto control = std::make_shared<TestControl>();
  control->microseconds = [&](const Problem& problem) { return device.at(problem.layer_name); };
  control->copy_us = static_cast<int>(kCopyUs);
  const auto pool = create_thread_pool(1).value();
  const TemporaryFolder cache;
  const TuneResult result = tune(runtime_of(host, control, *pool), graph, cache);
  std::uint32_t split = 0;
  for (std::size_t l = 0; l < graph->layers().size(); ++l) {
    const auto choice = result.path.layers.find(graph->layers()[l].id);
    if (choice != result.path.layers.end() && choice->second.routine == "test/pages")
      split |= 1u << l;
  }
  CHECK((split == 0) == (result.path.machine.find("test device") == std::string::npos));
  return split;
}

}  // namespace

TEST_CASE("tune: with a fast, a slow and a mixed device each layer is where brute force puts it") {
  const SettableClock clock;
  const auto graph = products();
  constexpr double kLead = 1.02;  // looks at the clock take time as well
  std::mt19937 random(11);
  const auto drawn = [&] { return 200.0 + random() % 6000; };
  int mixed = 0;
  for (const std::string device_is : {"fast", "slow", "mixed", "mixed", "mixed", "mixed"}) {
    Times host, device;
    double lead = 0;
    std::uint32_t split = 0;
    do {
      for (const Layer& layer : graph->layers()) {
        host[layer.name] = device_is == "slow" ? 300 : drawn();
        device[layer.name] = device_is == "fast" ? 20 : drawn();
      }
      split = fastest_split(*graph, host, device, lead);
    } while (lead < kLead);
    CAPTURE(device_is, lead);
    for (const Layer& layer : graph->layers())
      UNSCOPED_INFO(layer.name << ": host " << host[layer.name] << ", device " << device[layer.name]
                               << " us");
    CHECK(tuned_split(graph, host, device) == split);
    mixed += split != 0 && split != (1u << graph->layers().size()) - 1;
  }
  CHECK(mixed > 0);
}

TEST_CASE("tune: measurements of a device serve those of its name, and the host's serve all") {
  const SettableClock clock;
  const auto graph = products();
  Times host;
  constexpr double kHostUs = 1000;  // slow enough for all layers to be put on the device
  for (const Layer& layer : graph->layers()) host[layer.name] = kHostUs;
  const auto pool = create_thread_pool(1).value();
  const TemporaryFolder cache;
  const auto tune_with = [&](const std::string& name) {
    const auto control = std::make_shared<TestControl>();
    control->name = name;
    control->microseconds = [](const Problem&) { return 5.0; };
    return tune(runtime_of(host, control, *pool), graph, cache);
  };
  const TuneResult first = tune_with("device A");
  CHECK(first.path.machine.find("with test device A") != std::string::npos);
  CHECK(tune_with("device A").report.measured == 0);
  const TuneResult other = tune_with("device B");
  CHECK(other.path.machine.find("with test device B") != std::string::npos);
  // Each of the layers' products on the device, and the copies, but none of those on the host.
  CHECK(other.report.measured > 8);
  CHECK(other.report.from_cache >= 8);
  CHECK(tune_with("device A").report.measured == 0);
}

TEST_CASE("tune: of a kind with other arithmetic, the other layers are of its device and type") {
  const auto pool = create_thread_pool(1).value();
  const auto runtime = runtime_of({}, std::make_shared<TestControl>(), *pool);
  auto& registry = const_cast<Registry&>(runtime->registry());
  REQUIRE(registry.add(std::make_unique<RoundingMatmul>("test:tf32/rounding")).ok());
  SmallNetBuilder b;
  const TensorId x = b.input("x", DynamicShape(Shape{2, 4, 8}));
  const TensorId flat = b.layer("flatten", "flat", {x});
  const TensorId once = b.layer("matmul", "large", {flat, b.weights("w", {32, 3})});
  b.graph.outputs = {b.layer("matmul", "small", {once, b.weights("v", {3, 2})})};
  const auto graph = finished(std::move(b.graph));
  const std::vector<Shape> shapes = {Shape{2, 4, 8}};
  const NetProblems problems = infer_problems(runtime, graph, shapes).value();
  const auto listed = [&](const std::vector<std::string>& schemas) {
    return list_candidates(runtime->routine_context(), problems, {schemas, 4}).value();
  };
  // A view has no arithmetic: it is wherever tensors of its type are.
  const auto views = listed({"test:tf32"})[0].candidates;
  CHECK(std::ranges::any_of(views, [](const Candidate& view) {
    return view.formats.str() == "test:float32 -> test:float32";
  }));

  std::vector<LayerCandidates> layers = listed({"cpu", "test"});
  const Kind tf32(*DeviceId::parse("test"), {Arithmetic::tf32, DataType::float32});
  const auto taken = [&](const LayerCandidates& layer) {
    std::string names;
    for (const Candidate& candidate : layer.candidates)
      if (candidate.routine != nullptr && only_kind(tf32)(layer, candidate))
        names += candidate.str() + ' ';
    return names;
  };
  for (LayerCandidates& layer : layers)
    for (Candidate& candidate : layer.candidates) candidate.isolated_us = 1;
  CHECK(taken(layers[1]) == "test:tf32/rounding ");
  std::erase_if(layers[2].candidates, [&](const Candidate& c) { return kind_of(c) == tf32; });
  CHECK(taken(layers[2]) == "test/pages ");
}

TEST_CASE("tune: a slow first run of a kernel on a device does not count") {
  const SettableClock clock;
  const auto graph = products();
  Times host;
  for (const Layer& layer : graph->layers()) host[layer.name] = 1000;
  const auto control = std::make_shared<TestControl>();
  control->microseconds = [](const Problem&) { return 5.0; };
  control->first_run_us = 50'000;
  const auto pool = create_thread_pool(1).value();
  const TemporaryFolder cache;
  const TuneResult result = tune(runtime_of(host, control, *pool), graph, cache);
  for (const Layer& layer : graph->layers()) {
    const auto choice = result.path.layers.find(layer.id);
    REQUIRE(choice != result.path.layers.end());
    CHECK(choice->second.routine == "test/pages");
  }
}

TEST_CASE("tune: a path is another machine's where a device of its name is another one") {
  RoutinePath path;
  Choice choice;
  choice.routine = "test/pages";
  Format there{DataType::float32};
  there.device = *DeviceId::parse("test");
  choice.formats.outputs = {there};
  path.layers[0] = choice;
  const auto pool = create_thread_pool(1).value();
  const auto machine = [&](const std::string& name) {
    const auto control = std::make_shared<TestControl>();
    control->name = name;
    return machine_of(path, runtime_of({}, control, *pool)->registry(), 1);
  };
  CHECK(machine("device A") == machine("device A"));
  CHECK(machine("device A") != machine("device B"));
}
