#include "plugins/cuda/routines.h"

#include "adapt/device_copy.h"
#include "core/base/error.h"

namespace softneuro::cuda {

Status add_gpu(Registry& registry, const Driver& driver, Result<const Nvrtc*> (*nvrtc)(),
               Result<const CublasLt*> (*cublaslt)()) {
  SN_ASSIGN_OR_RETURN(std::unique_ptr<CudaDevice> device, CudaDevice::create(driver));
  const Gpu gpu{*device, nvrtc, cublaslt};
  SN_RETURN_IF_ERROR(add_device(registry, std::move(device)));
  SN_RETURN_IF_ERROR(register_elementwise(registry, gpu));
  return register_dense(registry, gpu);
}

Status add_routines(Registry& registry) {
  if (registry.device(*DeviceId::parse("cuda")) != nullptr) return {};
  SN_ASSIGN_OR_RETURN(const Driver* const driver, load_driver());
  return add_gpu(registry, *driver, &load_nvrtc, &load_cublaslt);
}

}  // namespace softneuro::cuda
