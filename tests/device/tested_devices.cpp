#include "device/tested_devices.h"

#include <catch2/catch.hpp>

#include "device/test_device.h"
#if defined(SOFTNEURO_HAS_CUDA_PLUGIN)
#include "device/fake_cuda.h"
#endif
#include "net/make_runtime.h"

namespace softneuro::test {

void for_each_device(const std::function<void(Device&)>& check) {
  NetOptions options;
  options.threads = 1;
  options.plugins = {"none"};  // the GPU that is tested comes from below
  const std::shared_ptr<Runtime> runtime = make_runtime(options).value();
  auto& registry = const_cast<Registry&>(runtime->registry());
  REQUIRE(add_test_device(registry, std::make_shared<TestControl>()).ok());
#if defined(SOFTNEURO_HAS_CUDA_PLUGIN)
  REQUIRE(add_gpu_or_fake(registry).ok());
#endif
  for (const Device* device : registry.devices()) {
    INFO("device " << device->id().c_str() << ", " << device->name());
    check(*registry.device(device->id()));
  }
}

}  // namespace softneuro::test
