// conv2 and conv_transpose2 cuda/cudnn.
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {

Status register_cudnn_convolution(Registry&, CudaDevice&) {
  return {};
}

}  // namespace softneuro::cuda
