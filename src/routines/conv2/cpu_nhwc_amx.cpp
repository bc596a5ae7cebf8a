// conv1, conv2, conv3 cpu:float32:nhwc/amx.
#include "cpu/gemm/split_precision_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_nhwc_amx(Registry& registry) {
  const auto* const ops = split_tile_ops<float>();
  if (ops == nullptr) return {};  // not on this processor
  return add_packed_convs<SplitPrecisionGemm<float>>(registry, Layout::channels_last, "amx", 29,
                                                     *ops);
}

}  // namespace softneuro
