#include "plugins/cuda/layers/rows.h"

#include "core/base/error.h"
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {

Status register_rows(Registry& registry, CudaDevice& device) {
  SN_RETURN_IF_ERROR(register_reductions(registry, device));
  return register_normalizations(registry, device);
}

}  // namespace softneuro::cuda
