// conv1, conv2, conv3 cpu:float16:nhwc/direct: weights are kept in 16 bits and widened in
// registers, x and y are converted; sums are in float32.
#include "cpu/gemm/blocked_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_float16_nhwc_direct(Registry& registry) {
  return add_packed_convs<TiledGemm<Half>>(registry, Layout::channels_last, "direct", 30, {});
}

}  // namespace softneuro
