// The memory of devices: blocks that serve again, the limit of a net, what sessions and plans hold.
#include <catch2/catch.hpp>

#include "core/layers/builtin_layers.h"
#include "core/plan/packed_cache.h"
#include "device/split_nets.h"
#include "device/test_device.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// The test device, which keeps memory that was given back.
struct KeepingDevice {
  std::shared_ptr<TestControl> control = std::make_shared<TestControl>();
  Registry registry{builtin_layer_types()};
  Device* device = nullptr;

  KeepingDevice() {
    control->keeps_memory = true;
    REQUIRE(add_test_device(registry, control).ok());
    device = registry.device(*DeviceId::parse("test"));
  }
  // From the pool, or from the device; given back at once.
  void* take(std::size_t bytes) const { return device->allocate(bytes).value().data(); }
  int calls() const { return control->calls(Fault::allocate); }
};

}  // namespace

TEST_CASE("device memory: a block that was given back serves what fills seven eighths of it") {
  const KeepingDevice d;
  void* const block = d.take(8000);
  CHECK(d.device->pool().usage().kept == 8000);
  CHECK(d.take(8000) == block);
  CHECK(d.take(7000) == block);
  CHECK(d.calls() == 1);
  CHECK(d.take(6999) != block);
  CHECK(d.take(8001) != block);
  CHECK(d.calls() == 3);
  {
    const DeviceMemory first = d.device->allocate(7500).value();
    CHECK(first.bytes() == 7500);
    const DeviceMemory second = d.device->allocate(7500).value();
    CHECK(first.data() != second.data());
    CHECK(d.device->pool().usage().used >= 15000);
  }
  CHECK(d.device->pool().usage().used == 0);
}

TEST_CASE("device memory: no more is kept than was in use at one time") {
  const KeepingDevice d;
  for (const std::size_t bytes : {1000, 2000, 3000, 5000, 500, 4000}) d.take(bytes);
  CHECK(d.device->pool().usage().kept <= 5000);
  CHECK(d.control->used_bytes == d.device->pool().usage().kept);
  d.device->pool().trim();
  CHECK(d.control->used_bytes == 0);
  d.take(700);
  CHECK(d.control->used_bytes == 700);
}

TEST_CASE("device memory: what is kept goes before the device has no more") {
  const KeepingDevice d;
  d.take(10000);
  d.take(5000);
  CHECK(d.control->used_bytes == 5000);
  d.control->fail(Fault::allocate, 1);
  CHECK(d.device->allocate(1000).ok());
  CHECK(d.control->used_bytes == 1000);
  d.device->pool().trim();
  d.control->fail(Fault::allocate, 1);
  CHECK(d.device->allocate(1000).status().code() == StatusCode::out_of_memory);
}

TEST_CASE("device memory: beyond the limit is out_of_memory, which says what is used") {
  const KeepingDevice d;
  d.device->pool().set_limit(10000);
  d.take(9000);  // kept: it gives way
  const DeviceMemory held = d.device->allocate(6000).value();
  CHECK(d.control->used_bytes <= 10000);
  const Status refused = d.device->allocate(4001).status();
  CHECK(refused.code() == StatusCode::out_of_memory);
  CHECK_THAT(refused.message(), Catch::Contains("4001 bytes on the device test") &&
                                    Catch::Contains("6000 of 10000 are in use") &&
                                    Catch::Contains("NetOptions::device_memory"));
  CHECK(d.device->allocate(4000).ok());
  CHECK(d.control->used_bytes <= 10000);
  d.device->pool().set_limit(0);
  CHECK(d.device->allocate(100000).ok());
}

TEST_CASE("device memory: the device gets everything back, whatever is kept") {
  std::shared_ptr<TestControl> control;
  {
    const KeepingDevice d;
    control = d.control;
    d.take(1000);
    CHECK(d.control->used_bytes == 1000);
  }
  CHECK(control->used_bytes == 0);
}

TEST_CASE("device memory: a report counts packed weights where they are") {
  const SplitNet net = branching_net();
  const RoutinePath path = net.random_path(2, 1.0);
  {
    const auto plan = net.plan(path);
    const MemoryReport report = plan->memory_report();
    CHECK(report.device_packed_weights > 0);
    CHECK(report.device_packed_weights == net.control->used_bytes);
    std::size_t host = 0;
    for (const Step& step : impl_of(*plan).steps)
      if (step.device == 0) host += step.packed.size();
    CHECK(report.packed_weights == host);
    const Session session = Session::create(plan).value();
    CHECK(report.device_packed_weights + report.device_arenas == net.control->used_bytes);
  }
  net.runtime->packed_weights().clear();
  CHECK(net.control->used_bytes == 0);
}

TEST_CASE(
    "device memory: packings of a device go by its name, those of the host by the processor") {
  const SplitNet net = branching_net();
  const auto plan = net.plan(net.random_path(2, 0.5));
  std::size_t there = 0, here = 0;
  for (const Step& step : impl_of(*plan).steps) {
    if (step.packed.empty()) continue;
    Problem problem = problem_of(impl_of(*plan), *step.layer).value();
    const ImplementationPtr made =
        net.runtime->routine_context().implement(*step.routine, std::move(problem)).value();
    const std::string key =
        PackedCache::key_of(*step.layer, *made, made->packing(step.params).value());
    CHECK((key.find("|test device") != std::string::npos) == (step.device != 0));
    (step.device != 0 ? there : here) += 1;
  }
  CHECK(there > 0);
  CHECK(here > 0);
}

TEST_CASE("device memory: the arena of a session serves its next plan where it is large enough") {
  const SplitNet net = branching_net();
  const std::vector<Tensor> expected = net.run(net.plan({}));
  const RoutinePath path = net.random_path(2, 1.0);
  const auto first = net.plan(path), second = net.plan(path);
  Session session = Session::create(first).value();
  const int before = net.control->calls(Fault::allocate);
  const std::size_t used = net.control->used_bytes;
  REQUIRE(session.set_plan(second).ok());
  CHECK(net.control->calls(Fault::allocate) == before);
  std::vector<Tensor> outputs(expected.size());
  REQUIRE(session.run(net.inputs, outputs).ok());
  for (std::size_t o = 0; o < outputs.size(); ++o)
    CHECK(difference(outputs[o], expected[o], {1e-5, 1e-4, 0}) == "");
  CHECK(net.control->used_bytes == used);
}
