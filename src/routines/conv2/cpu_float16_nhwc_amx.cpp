// conv1, conv2, conv3 cpu:float16:nhwc/amx.
#include "cpu/gemm/split_precision_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_float16_nhwc_amx(Registry& registry) {
  const auto* const ops = split_tile_ops<Half>();
  if (ops == nullptr) return {};  // not on this processor
  return add_packed_convs<SplitPrecisionGemm<Half>>(registry, Layout::channels_last, "amx", 34,
                                                    *ops);
}

}  // namespace softneuro
