// conv1, conv2, conv3 cpu:TYPE:nhwc/amx, TYPE float32, float16 or bfloat16.
#include "cpu/gemm/split_precision_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_nhwc_amx(Registry& registry) {
  if (split_tile_ops<float>() == nullptr) return {};  // nor the others: not in this build
  SN_RETURN_IF_ERROR(add_packed_convs<SplitPrecisionGemm<float>>(
      registry, Layout::channels_last, "amx", 29, *split_tile_ops<float>()));
  SN_RETURN_IF_ERROR(add_packed_convs<SplitPrecisionGemm<Half>>(
      registry, Layout::channels_last, "amx", 34, *split_tile_ops<Half>()));
  return add_packed_convs<SplitPrecisionGemm<BFloat16>>(registry, Layout::channels_last, "amx", 36,
                                                        *split_tile_ops<BFloat16>());
}

}  // namespace softneuro
