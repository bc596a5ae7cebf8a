// where, cast, batch_norm, and functions of integers and booleans, cuda/nvrtc.
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {

Status register_mixed(Registry&, CudaDevice&) {
  return {};
}

}  // namespace softneuro::cuda
