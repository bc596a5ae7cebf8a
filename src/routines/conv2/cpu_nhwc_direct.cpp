// conv1, conv2, conv3 cpu:float32:nhwc/direct and cpu:float16:nhwc/direct. float16: weights are
// kept in 16 bits and widened in registers, x and y are converted; sums are in float32.
#include "cpu/gemm/blocked_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_nhwc_direct(Registry& registry) {
  SN_RETURN_IF_ERROR(
      add_packed_convs<TiledGemm<float>>(registry, Layout::channels_last, "direct", 30, {}));
  return add_packed_convs<TiledGemm<Half>>(registry, Layout::channels_last, "direct", 30, {});
}

}  // namespace softneuro
