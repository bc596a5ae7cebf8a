// conv1, conv2, conv3 cpu:float32:nhwc/direct.
#include "cpu/gemm/blocked_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_nhwc_direct(Registry& registry) {
  return add_packed_convs<TiledGemm<float>>(registry, Layout::channels_last, "direct", 30, {});
}

}  // namespace softneuro
