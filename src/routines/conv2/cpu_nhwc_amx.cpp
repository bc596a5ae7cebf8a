// conv1, conv2, conv3 cpu:float32:nhwc/amx.
#include "core/routine/registry.h"
#include "cpu/gemm/split_precision_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_nhwc_amx(Registry& registry) {
  const auto* const ops = split_tile_ops<float>();
  if (ops == nullptr) return {};  // not in this build
  for (const char* layer_type : {"conv1", "conv2", "conv3"})
    SN_RETURN_IF_ERROR(
        registry.add(make_packed_conv<SplitPrecisionGemm<float>>(layer_type, "amx", 29, *ops)));
  return {};
}

}  // namespace softneuro
