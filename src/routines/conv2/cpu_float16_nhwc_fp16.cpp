// conv1, conv2, conv3 cpu:float16:nhwc/fp16.
#include "core/routine/registry.h"
#include "cpu/gemm/half_gemm.h"
#include "routines/conv2/packed_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_float16_nhwc_fp16(Registry& registry) {
  const HalfTileOps* const ops = fp16_tile_ops();
  if (ops == nullptr) return {};  // not in this build
  for (const char* layer_type : {"conv1", "conv2", "conv3"})
    SN_RETURN_IF_ERROR(registry.add(make_packed_conv<HalfGemm>(layer_type, "fp16", 28, *ops)));
  return {};
}

}  // namespace softneuro
