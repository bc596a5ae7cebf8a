#include "plugins/cuda/routines.h"

#include "adapt/device_copy.h"
#if defined(SOFTNEURO_HAS_CUDNN)
#include "plugins/cuda/libraries/cudnn.h"
#endif

namespace softneuro::cuda {

Status add_gpu(Registry& registry, const Toolkit& toolkit) {
  const int ordinal = registry.device_number(*DeviceId::parse("cuda"));
  auto added = std::make_unique<CudaDevice>(toolkit, ordinal);
  CudaDevice& device = *added;
  SN_RETURN_IF_ERROR(add_device(registry, std::move(added)));
  for (const auto add :
       {&register_adapt, &register_elementwise, &register_mixed, &register_moves, &register_gather,
        &register_rows, &register_windows, &register_dense, &register_tiled_products,
        &register_direct_convolution, &register_cudnn_convolution})
    SN_RETURN_IF_ERROR(add(registry, device));
  return {};
}

Status add_routines(Registry& registry) {
  if (registry.device(*DeviceId::parse("cuda")) != nullptr) return {};
  Toolkit toolkit = {&load_driver, &load_nvrtc, &load_cublaslt};
#if defined(SOFTNEURO_HAS_CUDNN)
  toolkit.cudnn = &load_cudnn;
#endif
  return add_gpu(registry, toolkit);
}

}  // namespace softneuro::cuda
