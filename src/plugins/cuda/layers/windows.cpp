// Pools cuda/nvrtc: outputs from windows.
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {

Status register_windows(Registry&, CudaDevice&) {
  return {};
}

}  // namespace softneuro::cuda
