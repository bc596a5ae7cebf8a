// conv1, conv2 cpu:TYPE:nhwc/depthwise, TYPE float32, float16 or bfloat16.
#include "routines/conv2/narrow_groups.h"

namespace softneuro {

Status register_routine_conv2_cpu_nhwc_depthwise(Registry& registry) {
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16})
    SN_RETURN_IF_ERROR(add_narrow_group_convs(registry, type, true, group_conv_code(type, true)));
  return {};
}

}  // namespace softneuro
