// The GPU and the routines that work there: one function per file of routines.
#pragma once

#include "core/routine/registry.h"
#include "plugins/cuda/cuda_device.h"

namespace softneuro::cuda {

// `device` is the registry's.
Status register_elementwise(Registry& registry, CudaDevice& device);
Status register_dense(Registry& registry, CudaDevice& device);

// The device "cuda" over `toolkit`, with all routines. Opens nothing: whoever means to use the
// device starts it.
Status add_gpu(Registry& registry, const Toolkit& toolkit);

// The same with this machine's libraries; nothing if the device is there already.
Status add_routines(Registry& registry);

}  // namespace softneuro::cuda
