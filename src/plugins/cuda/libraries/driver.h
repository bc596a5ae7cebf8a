// The CUDA driver (libcuda.so.1) through a table of entry points.
#pragma once

#include <cuda.h>

#include <string>

#include "plugins/cuda/libraries/shared_library.h"
#include "softneuro/status.h"

namespace softneuro::cuda {

// Plain names, or those that cuda.h makes of them: it redefines some to a newer ABI (_v2).
#define SN_CUDA_DRIVER(X)         \
  X(cuInit)                       \
  X(cuDriverGetVersion)           \
  X(cuGetErrorName)               \
  X(cuGetErrorString)             \
  X(cuDeviceGetCount)             \
  X(cuDeviceGet)                  \
  X(cuDeviceGetName)              \
  X(cuDeviceGetAttribute)         \
  X(cuDevicePrimaryCtxRetain)     \
  X(cuDevicePrimaryCtxRelease_v2) \
  X(cuCtxPushCurrent_v2)          \
  X(cuCtxPopCurrent_v2)           \
  X(cuMemGetInfo_v2)              \
  X(cuMemAlloc_v2)                \
  X(cuMemFree_v2)                 \
  X(cuMemHostAlloc)               \
  X(cuMemFreeHost)                \
  X(cuMemcpyHtoDAsync_v2)         \
  X(cuMemcpyDtoHAsync_v2)         \
  X(cuStreamCreate)               \
  X(cuStreamDestroy_v2)           \
  X(cuStreamSynchronize)          \
  X(cuStreamBeginCapture_v2)      \
  X(cuStreamEndCapture)           \
  X(cuGraphInstantiateWithFlags)  \
  X(cuGraphLaunch)                \
  X(cuGraphExecDestroy)           \
  X(cuGraphDestroy)               \
  X(cuEventCreate)                \
  X(cuEventDestroy_v2)            \
  X(cuEventRecord)                \
  X(cuEventSynchronize)           \
  X(cuEventElapsedTime)           \
  X(cuModuleLoadData)             \
  X(cuModuleUnload)               \
  X(cuModuleGetFunction)          \
  X(cuLaunchKernel)

struct Driver {
#define SN_DECLARE(name) decltype(&::name) name = nullptr;
  SN_CUDA_DRIVER(SN_DECLARE)
#undef SN_DECLARE
  std::string path;      // of the library
  std::string found_by;  // SharedLibrary::found_by()

  // Fine, or an error that names the call: out_of_memory, else device_failed.
  Status check(CUresult result, const char* call) const noexcept;
  // "13.0": the newest CUDA that it can run.
  Result<std::string> version() const;
};

// The table of a library. unsupported if it lacks an entry.
Result<Driver> driver_of(const SharedLibrary& library);
// The driver of this machine, opened at the first call, not initialised. unsupported, with the
// reason, where there is none.
Result<const Driver*> find_driver();
// The same, initialised. unsupported, with the reason, where there is none or it sees no GPU.
Result<const Driver*> load_driver();

}  // namespace softneuro::cuda
