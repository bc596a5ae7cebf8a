// conv2 and conv_transpose2 cuda/direct.
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {

Status register_direct_convolution(Registry&, CudaDevice&) {
  return {};
}

}  // namespace softneuro::cuda
