// The memory of a net that was tuned for a device: limits, files, trimming.
#include <catch2/catch.hpp>
#include <cstring>

#include "core/dnn/file.h"
#include "core/layers/builtin_layers.h"
#include "core/plan/runtime.h"
#include "device/test_device.h"
#include "net/net_access.h"
#include "profiler/tune/memory_limit.h"
#include "support/temporary_folder.h"
#include "tuning/small_net.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// x [2 x 32] → two dense layers, tuned for the test device alone.
struct TunedNet {
  std::shared_ptr<TestControl> control = std::make_shared<TestControl>();
  Net net = [] {
    SmallNetBuilder b;
    const TensorId x = b.input("x", DynamicShape(Shape{2, 32}));
    const TensorId inner = b.layer("dense", "first", {x, b.weights("w", {32, 48})});
    b.graph.outputs = {b.layer("dense", "second", {inner, b.weights("v", {48, 16})})};
    NetOptions options;
    options.threads = 1;
    options.plugins = {"none"};
    return NetAccess::from_graph(std::move(b.graph), options).value();
  }();
  NamedTensors inputs = {{"x", random_image(3, {2, 32})}};

  TunedNet() {
    control->keeps_memory = true;
    auto& registry = const_cast<Registry&>(NetAccess::registry(net));
    REQUIRE(add_test_device(registry, control).ok());
    TuneOptions options;
    options.cache.disabled = true;
    options.schemas = {"test"};
    options.selection.avoid = {"cpu*"};  // the default plan
    const auto report = net.tune(options);
    INFO(report.status().message());
    REQUIRE(report.ok());
    REQUIRE(net.plan().value()->describe().find("test/pages") != std::string::npos);
  }
};

constexpr std::size_t kWeights = sizeof(float) * (32 * 48 + 48 * 16);

}  // namespace

TEST_CASE("tune: max_memory counts what devices hold, once") {
  const TunedNet tuned;
  const auto plan = tuned.net.plan().value();
  const MemoryReport report = plan->memory_report();
  CHECK(report.device_packed_weights == kWeights);
  CHECK(plan_memory(*plan) ==
        report.arena + report.device_arenas + report.device_packed_weights + report.packed_weights);
}

TEST_CASE("net: a trimmed net holds plans and packed weights, and runs on") {
  const TunedNet tuned;
  const NamedTensors before = tuned.net.run(tuned.inputs).value();
  const MemoryReport report = tuned.net.memory_report();
  CHECK(report.sessions == 1);
  CHECK(report.device_kept > 0);  // of what tuning tried
  CHECK(tuned.control->used_bytes ==
        report.device_kept + report.device_arenas + report.device_packed_weights);
  tuned.net.trim();
  const MemoryReport trimmed = tuned.net.memory_report();
  CHECK(trimmed.sessions == 0);
  CHECK(trimmed.plans == 1);
  CHECK(trimmed.device_kept == 0);
  CHECK(tuned.control->used_bytes == trimmed.device_packed_weights);
  const NamedTensors after = tuned.net.run(tuned.inputs).value();
  for (const auto& [name, tensor] : before)
    CHECK(std::memcmp(tensor.data(), after.at(name).data(), tensor.bytes()) == 0);
}

TEST_CASE("net: a file has what a device packed, though the host has no copy") {
  const TunedNet tuned;
  REQUIRE(tuned.net.plan().value()->memory_report().packed_weights == 0);
  const TemporaryFolder folder;
  const std::string file = folder.file("packed.dnn");
  REQUIRE(tuned.net.save(file, {.packed_weights = true}).ok());
  const DnnContents contents = load_dnn_contents(file, builtin_layer_types()).value();
  REQUIRE(contents.packed.size() == 2);
  std::size_t bytes = 0;
  for (const auto& [key, packed] : contents.packed) {
    CHECK(key.find("test device") != std::string::npos);
    bytes += packed.bytes();
  }
  CHECK(bytes == kWeights);
}
