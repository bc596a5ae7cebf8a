// conv1, conv2, conv3 cpu:float16:nhwc/direct.
#include "core/routine/registry.h"
#include "routines/conv2/direct_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_float16_nhwc_direct(Registry& registry) {
  for (const char* layer_type : {"conv1", "conv2", "conv3"})
    SN_RETURN_IF_ERROR(
        registry.add(make_direct_conv(layer_type, DataType::float16, Layout::channels_last)));
  return {};
}

}  // namespace softneuro
