// conv1, conv2 cpu:float16:nhwc/depthwise.
#include "core/routine/registry.h"
#include "routines/conv2/narrow_groups.h"

namespace softneuro {

Status register_routine_conv2_cpu_float16_nhwc_depthwise(Registry& registry) {
  for (const char* layer_type : {"conv1", "conv2"})
    SN_RETURN_IF_ERROR(registry.add(make_narrow_group_conv(layer_type, DataType::float16, true)));
  return {};
}

}  // namespace softneuro
