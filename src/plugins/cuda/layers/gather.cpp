// gather cuda/nvrtc.
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {

Status register_gather(Registry&, CudaDevice&) {
  return {};
}

}  // namespace softneuro::cuda
