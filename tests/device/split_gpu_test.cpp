// Nets split between the host and the devices of plugins: a GPU where there is one.
#include <catch2/catch.hpp>

#include "core/plan/plan_impl.h"
#include "device/split_nets.h"
#include "support/skip.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

constexpr Tolerance kTolerance = {1e-5, 1e-4, 0};

struct Count {
  std::size_t kernels = 0, copies = 0, segments = 0;
};

Count steps_on_devices(const Plan& plan) {
  Count count;
  for (const Step& step : impl_of(plan).steps)
    if (step.device != 0) ++(step.layer->type->is_adapt() ? count.copies : count.kernels);
  return count;
}

}  // namespace

TEST_CASE("split: random paths between the host and a plugin's device give the host's outputs") {
  std::map<std::string, Count> counts;
  for (const SplitNet& net : split_nets()) {
    const std::vector<Tensor> expected = net.run(net.plan({}));
    for (const Device* device : net.runtime->registry().devices()) {
      if (device->id() == *DeviceId::parse("test")) continue;
      for (std::uint32_t seed = 0; seed < 20; ++seed) {
        CAPTURE(net.name, seed, device->name());
        const double share = 0.25 * (1 + seed % 4);
        const auto plan = net.plan(net.random_path(seed, share, device->id()));
        const Count steps = steps_on_devices(*plan);
        counts[device->name()].kernels += steps.kernels;
        counts[device->name()].copies += steps.copies;
        counts[device->name()].segments += impl_of(*plan).segments.size();
        const std::vector<Tensor> outputs = net.run_repeatedly(plan);
        REQUIRE(outputs.size() == expected.size());
        for (std::size_t o = 0; o < outputs.size(); ++o)
          REQUIRE(difference(outputs[o], expected[o], kTolerance) == "");
      }
    }
  }
  if (counts.empty()) SN_SKIP("no plugin of this build brings a device");
  for (const auto& [name, steps] : counts) {
    CAPTURE(name);
    CHECK(steps.kernels > 100);
    CHECK(steps.copies > 100);
    CHECK(steps.segments > 10);
  }
}
