// The memory of devices: what sessions and plans hold.
#include <catch2/catch.hpp>

#include "core/plan/packed_cache.h"
#include "device/split_nets.h"
#include "device/test_device.h"

using namespace softneuro;
using namespace softneuro::test;

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
