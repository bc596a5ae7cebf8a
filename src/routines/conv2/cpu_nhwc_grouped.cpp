// conv1, conv2 cpu:TYPE:nhwc/grouped, TYPE float32, float16 or bfloat16.
#include "core/routine/registry.h"
#include "routines/conv2/narrow_groups.h"

namespace softneuro {

Status register_routine_conv2_cpu_nhwc_grouped(Registry& registry) {
  for (const char* layer_type : {"conv1", "conv2"})
    for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16})
      SN_RETURN_IF_ERROR(registry.add(
          make_narrow_group_conv(layer_type, type, false, group_conv_code(type, false))));
  return {};
}

}  // namespace softneuro
