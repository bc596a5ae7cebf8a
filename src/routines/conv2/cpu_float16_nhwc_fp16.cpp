// conv1, conv2, conv3 cpu:float16:nhwc/fp16.
#include "cpu/gemm/half_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_float16_nhwc_fp16(Registry& registry) {
  const auto* const ops = fp16_tile_ops();
  if (ops == nullptr) return {};  // not in this build
  return add_packed_convs<HalfGemm<Half>>(registry, Layout::channels_last, "fp16", 28, *ops);
}

}  // namespace softneuro
