// conv1, conv2 cpu:bfloat16:nhwc/depthwise_bf16.
#include "routines/conv2/depthwise_pairs.h"

namespace softneuro {

Status register_routine_conv2_cpu_bfloat16_nhwc_depthwise_bf16(Registry& registry) {
  return add_narrow_group_convs(registry, DataType::bfloat16, true, depthwise_pairs_code());
}

}  // namespace softneuro
