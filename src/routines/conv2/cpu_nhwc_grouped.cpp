// conv1, conv2 cpu:TYPE:nhwc/grouped, TYPE float32, float16 or bfloat16.
#include "routines/conv2/narrow_groups.h"

namespace softneuro {

Status register_routine_conv2_cpu_nhwc_grouped(Registry& registry) {
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16})
    SN_RETURN_IF_ERROR(add_narrow_group_convs(registry, type, false, group_conv_code(type, false)));
  return {};
}

}  // namespace softneuro
