// conv1, conv2, conv3 cpu:float32:nchw8c/direct.
#include "cpu/gemm/blocked_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_nchw8c_direct(Registry& registry) {
  return add_packed_convs<TiledGemm<float>>(registry, Layout::nchw8c, "direct", 30, {8});
}

}  // namespace softneuro
