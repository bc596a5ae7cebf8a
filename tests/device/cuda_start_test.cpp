// CUDA is opened for nets that ask for it, and for no other.
#include <atomic>
#include <catch2/catch.hpp>

#include "core/base/error.h"
#include "core/layers/builtin_layers.h"
#include "device/fake_cuda.h"
#include "net/make_runtime.h"
#include "net/tuned_plan.h"
#include "profiler/tune/tuner.h"
#include "support/temporary_folder.h"
#include "tuning/small_net.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr const char* kReason = "the test has no driver";
std::atomic<int> opened;

// Whether one is there or not, somebody asked.
cuda::Toolkit counting_toolkit(bool has_driver) {
  const auto driver = []() -> Result<const cuda::Driver*> { return ++opened, &fake_driver(); };
  const auto none = []() -> Result<const cuda::Driver*> { return ++opened, unsupported(kReason); };
  const auto nvrtc = [] { return ++opened, fake_nvrtc(); };
  const auto cublaslt = [] { return ++opened, fake_cublaslt(); };
  Result<const cuda::Driver*> (*const chosen)() = has_driver ? +driver : +none;
  return {chosen, nvrtc, cublaslt};
}

struct GpuNet {
  explicit GpuNet(bool has_driver) {
    NetOptions options;
    options.threads = 1;
    options.plugins = {"none"};
    runtime = make_runtime(options).value();
    REQUIRE(cuda::add_gpu(const_cast<Registry&>(registry()), counting_toolkit(has_driver)).ok());
    opened = 0;
  }
  const Registry& registry() const { return runtime->registry(); }

  Result<TuneResult> tune(std::vector<std::string> schemas) const {
    const TemporaryFolder cache;
    TuneOptions options;
    options.cache.folder = cache.path().string();
    options.schemas = std::move(schemas);
    TuneJob job;
    job.runtime = runtime;
    job.graph = job.model = graph;
    job.is_model = true;
    job.shapes = {Shape{1, 3, 12, 12}};
    job.inputs = {random_image(3)};
    job.verification_inputs = {job.inputs};
    job.options = &options;
    job.rules = rules_of(options);
    return softneuro::tune(job);
  }

  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Graph> graph = finished(small_graph());
};

// All that can be on the GPU is there.
RoutinePath gpu_path(const GpuNet& net) {
  RoutinePath path;
  for (const Layer& layer : net.graph->layers()) {
    if (layer.type->name != "unary") continue;
    Format there{DataType::float32};
    there.device = *DeviceId::parse("cuda");
    Choice choice;
    choice.routine = "cuda/nvrtc";
    choice.formats.inputs = choice.formats.outputs = {there};
    path.layers[layer.id] = choice;
  }
  return path;
}

}  // namespace

TEST_CASE("cuda: NetOptions::device chooses one of several GPUs by its number") {
  Registry registry(builtin_layer_types());
  registry.set_device_number(*DeviceId::parse("cuda"), 7);
  REQUIRE(cuda::add_gpu(registry, fake_toolkit()).ok());
  const Status status = registry.started_device(*DeviceId::parse("cuda")).status();
  CHECK(status.code() == StatusCode::unsupported);
  CHECK(status.message().find("sees no GPU 7") != std::string::npos);
}

TEST_CASE("cuda: nets and tunings on the host open nothing of CUDA") {
  const GpuNet net(true);
  const auto plan = build_plan(net.runtime, net.graph, {{Shape{1, 3, 12, 12}}}, {}, nullptr);
  REQUIRE(plan.ok());
  CHECK(check_schemas(net.registry(), std::vector<std::string>{"cpu:float32"}).ok());
  const auto result = net.tune({"cpu:float32"});
  INFO(result.status().message());
  CHECK(result.ok());
  for (const Routine* routine : net.registry().all()) routine->facts();
  CHECK(opened == 0);
}

TEST_CASE("cuda: a tuning that may use the GPU opens it, and its path names it") {
  const GpuNet net(true);
  CHECK(check_schemas(net.registry(), std::vector<std::string>{"cpu:float32", "cuda"}).ok());
  CHECK(opened == 1);
  if (!fake_nvrtc().ok()) return;
  const auto plan =
      build_plan(net.runtime, net.graph, {{Shape{1, 3, 12, 12}}}, gpu_path(net), nullptr);
  REQUIRE(plan.ok());
  CHECK_THAT((*plan)->describe(), Catch::Contains("cuda/nvrtc"));
  CHECK(machine_of(gpu_path(net), net.registry(), 1).find("the host as a GPU") !=
        std::string::npos);
}

TEST_CASE("cuda: schemas that name a GPU that is not there are an error with the reason") {
  const GpuNet net(false);
  CHECK(check_schemas(net.registry(), std::vector<std::string>{"cpu"}).ok());
  CHECK(opened == 0);
  const Status status = check_schemas(net.registry(), std::vector<std::string>{"cpu", "cuda"});
  CHECK(status.code() == StatusCode::unsupported);
  CHECK(status.message().find(kReason) != std::string::npos);
}

TEST_CASE("cuda: a path for a GPU that is not there takes default choices, and says why") {
  const GpuNet net(false);
  const RoutinePath path = gpu_path(net);
  ReplacedChoices replaced;
  const auto plan = build_plan(net.runtime, net.graph, {{Shape{1, 3, 12, 12}}}, path, &replaced);
  REQUIRE(plan.ok());
  CHECK(replaced.layers.size() == path.layers.size());
  for (const std::string& line : replaced.layers) CHECK_THAT(line, Catch::Contains(kReason));
  CHECK_THAT(replaced.summary, Catch::Contains(kReason));
  CHECK(machine_of(path, net.registry(), 1).empty());
}
