// The GPU and the routines that work there: one function per file of routines.
#pragma once

#include "core/routine/registry.h"
#include "plugins/cuda/cublaslt.h"
#include "plugins/cuda/cuda_device.h"

namespace softneuro::cuda {

// What the routines work with. NVRTC and cuBLASLt are opened at the first layer that asks: they are
// large. Both are called once and again, by any thread.
struct Gpu {
  CudaDevice& device;  // the registry's
  Result<const Nvrtc*> (*nvrtc)();
  Result<const CublasLt*> (*cublaslt)();
};

Status register_elementwise(Registry& registry, const Gpu& gpu);
Status register_dense(Registry& registry, const Gpu& gpu);

// The device "cuda" over `driver`, which outlives the registry, with all routines.
Status add_gpu(Registry& registry, const Driver& driver, Result<const Nvrtc*> (*nvrtc)(),
               Result<const CublasLt*> (*cublaslt)());

// The same with this machine's libraries; nothing if it is there already. unsupported, with the
// reason, if there is no driver or no GPU: then nothing is added.
Status add_routines(Registry& registry);

}  // namespace softneuro::cuda
