// conv1, conv2, conv3 cpu:bfloat16:nhwc/bf16.
#include "cpu/gemm/half_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_bfloat16_nhwc_bf16(Registry& registry) {
  const auto* const ops = bf16_tile_ops();
  if (ops == nullptr) return {};  // not in this build
  return add_packed_convs<HalfGemm<BFloat16>>(registry, Layout::channels_last, "bf16", 35, *ops);
}

}  // namespace softneuro
