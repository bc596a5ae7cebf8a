#include "plugins/cuda/device/cuda_device.h"

#include "core/base/error.h"
#include "plugins/cuda/device/cuda_stream.h"

namespace softneuro::cuda {

Result<Gpu*> CudaDevice::gpu() noexcept {
  return guarded([&]() -> Result<Gpu*> {
    Gpu* gpu = gpu_;
    if (gpu == nullptr) {
      SN_ASSIGN_OR_RETURN(const Driver* const driver, toolkit_.driver());
      SN_ASSIGN_OR_RETURN(gpu, Gpu::find(*driver, ordinal_));
      gpu_ = gpu;
    }
    SN_RETURN_IF_ERROR(gpu->status());
    return gpu;
  });
}

CudaDevice::~CudaDevice() {
  pool().trim();
}

std::string CudaDevice::name() const {
  const Gpu* const gpu = gpu_;
  return gpu == nullptr ? std::string() : gpu->name();
}

Result<std::unique_ptr<Stream>> CudaDevice::create_stream() noexcept {
  return guarded([&]() -> Result<std::unique_ptr<Stream>> {
    SN_ASSIGN_OR_RETURN(Gpu* const gpu, this->gpu());
    SN_ASSIGN_OR_RETURN(std::unique_ptr<CudaStream> stream, CudaStream::create(*gpu));
    return std::unique_ptr<Stream>(std::move(stream));
  });
}

Result<void*> CudaDevice::allocate_bytes(std::size_t bytes) noexcept {
  SN_ASSIGN_OR_RETURN(Gpu* const gpu, this->gpu());
  SN_ASSIGN_OR_RETURN(const CUcontext context, gpu->context());
  const Driver& driver = gpu->driver();
  const CurrentContext current(driver, context);
  SN_RETURN_IF_ERROR(current.status());
  CUdeviceptr data = 0;
  const CUresult result = driver.cuMemAlloc_v2(&data, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t free = 0, total = 0;
    driver.cuMemGetInfo_v2(&free, &total);
    return make_error(StatusCode::out_of_memory, "{} has no {} bytes: {} of its {} are free",
                      gpu->name(), bytes, free, total);
  }
  SN_RETURN_IF_ERROR(gpu->check(result, "cuMemAlloc"));
  return reinterpret_cast<void*>(data);  // NOLINT: CUDA's addresses are numbers
}

void CudaDevice::deallocate_bytes(void* data, std::size_t) noexcept {
  Gpu& gpu = *gpu_;  // there, as something was allocated
  const CurrentContext current(gpu.driver(), gpu.made_context());
  gpu.driver().cuMemFree_v2(reinterpret_cast<CUdeviceptr>(data));
}

}  // namespace softneuro::cuda
