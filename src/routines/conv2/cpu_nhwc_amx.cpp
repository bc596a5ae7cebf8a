// conv1, conv2, conv3 cpu:TYPE:nhwc/amx, TYPE float32, float16 or bfloat16.
#include "cpu/gemm/split_precision_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_nhwc_amx(Registry& registry) {
  const auto* const floats = split_tile_ops<float>();
  const auto* const halves = split_tile_ops<Half>();
  const auto* const bfloats = split_tile_ops<BFloat16>();
  if (floats == nullptr || halves == nullptr || bfloats == nullptr) return {};  // not in this build
  SN_RETURN_IF_ERROR(add_packed_convs<SplitPrecisionGemm<float>>(registry, Layout::channels_last,
                                                                 "amx", 29, *floats));
  SN_RETURN_IF_ERROR(add_packed_convs<SplitPrecisionGemm<Half>>(registry, Layout::channels_last,
                                                                "amx", 34, *halves));
  return add_packed_convs<SplitPrecisionGemm<BFloat16>>(registry, Layout::channels_last, "amx", 36,
                                                        *bfloats);
}

}  // namespace softneuro
