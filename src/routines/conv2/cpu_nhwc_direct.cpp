// conv1, conv2, conv3 cpu:TYPE:nhwc/direct, TYPE float32, float16 or bfloat16. Sums are in float32;
// x and y of the others are converted, weights of float16 are widened in registers.
#include "cpu/gemm/blocked_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_nhwc_direct(Registry& registry) {
  SN_RETURN_IF_ERROR(
      add_packed_convs<TiledGemm<float>>(registry, Layout::channels_last, "direct", 30, {}));
  SN_RETURN_IF_ERROR(
      add_packed_convs<TiledGemm<Half>>(registry, Layout::channels_last, "direct", 30, {}));
  return add_packed_convs<TiledGemm<BFloat16>>(registry, Layout::channels_last, "direct", 30, {});
}

}  // namespace softneuro
