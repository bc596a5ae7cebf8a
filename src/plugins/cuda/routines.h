// The GPU and the routines that work there: one function per file of routines.
#pragma once

#include "core/routine/registry.h"
#include "plugins/cuda/kernels/generated_routine.h"

namespace softneuro::cuda {

// `device` is the registry's.
Status register_adapt(Registry& registry, CudaDevice& device);
Status register_elementwise(Registry& registry, CudaDevice& device);
Status register_mixed(Registry& registry, CudaDevice& device);
Status register_moves(Registry& registry, CudaDevice& device);
Status register_gather(Registry& registry, CudaDevice& device);
Status register_rows(Registry& registry, CudaDevice& device);
Status register_windows(Registry& registry, CudaDevice& device);
Status register_dense(Registry& registry, CudaDevice& device);
Status register_tiled_products(Registry& registry, CudaDevice& device);
Status register_direct_convolution(Registry& registry, CudaDevice& device);
Status register_cudnn_convolution(Registry& registry, CudaDevice& device);

// The device "cuda" over `toolkit`, with all routines. Opens nothing: whoever means to use the
// device starts it.
Status add_gpu(Registry& registry, const Toolkit& toolkit);

// The same with this machine's libraries; nothing if the device is there already.
Status add_routines(Registry& registry);

}  // namespace softneuro::cuda
