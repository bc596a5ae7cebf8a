// The devices that the tests of devices run on.
#pragma once

#include <functional>

#include "core/device/device.h"

namespace softneuro::test {

// Calls `check` with the test device, and with every device that the plugins at hand bring.
void for_each_device(const std::function<void(Device&)>& check);

}  // namespace softneuro::test
