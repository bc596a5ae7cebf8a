// transpose, slice, concat and what else only moves elements, cuda/nvrtc.
#include "plugins/cuda/routines.h"

namespace softneuro::cuda {

Status register_moves(Registry&, CudaDevice&) {
  return {};
}

}  // namespace softneuro::cuda
