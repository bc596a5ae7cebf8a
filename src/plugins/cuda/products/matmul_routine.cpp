// matmul cuda/cublaslt.
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {

Status register_matmul(Registry&, CudaDevice&) {
  return {};
}

}  // namespace softneuro::cuda
