// What register_rows registers.
#pragma once

#include "core/routine/registry.h"
#include "plugins/cuda/device/cuda_device.h"

namespace softneuro::cuda {

Status register_reductions(Registry& registry, CudaDevice& device);
Status register_normalizations(Registry& registry, CudaDevice& device);

}  // namespace softneuro::cuda
