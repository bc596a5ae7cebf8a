// What register_mixed() adds besides its own.
#pragma once

#include "core/routine/registry.h"
#include "plugins/cuda/device/cuda_device.h"

namespace softneuro::cuda {

// `device` is the registry's.
Status register_quantize(Registry& registry, CudaDevice& device);
Status register_generators(Registry& registry, CudaDevice& device);

}  // namespace softneuro::cuda
