// conv1, conv2 cpu:bfloat16:nhwc/depthwise_bf16.
#include "core/base/error.h"
#include "core/routine/registry.h"
#include "routines/conv2/depthwise_pairs.h"

namespace softneuro {

Status register_routine_conv2_cpu_bfloat16_nhwc_depthwise_bf16(Registry& registry) {
  const GroupConvCode code = depthwise_pairs_code();
  if (code.row == nullptr) return {};  // not in this build
  for (const char* layer_type : {"conv1", "conv2"})
    SN_RETURN_IF_ERROR(
        registry.add(make_narrow_group_conv(layer_type, DataType::bfloat16, true, code)));
  return {};
}

}  // namespace softneuro
