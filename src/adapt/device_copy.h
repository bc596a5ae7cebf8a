// Devices with the one routine that all of them have: the adapt between their memory and the
// host's.
#pragma once

#include <memory>

#include "core/routine/registry.h"

namespace softneuro {

// Adds the device and its adapt routine DEVICE/copy. That one copies between the host and the
// device; where the type or the layout changes too, the host does it on its side by its default
// adapt routine.
SN_INTREE Status add_device(Registry& registry, std::unique_ptr<Device> device);

}  // namespace softneuro
