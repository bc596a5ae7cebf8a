// conv2 cuda/cublaslt: pointwise convolutions as products.
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {

Status register_pointwise(Registry&, CudaDevice&) {
  return {};
}

}  // namespace softneuro::cuda
