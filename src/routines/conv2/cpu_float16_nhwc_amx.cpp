// conv1, conv2, conv3 cpu:float16:nhwc/amx.
#include "core/registry.h"
#include "routines/conv2/half_conv.h"

namespace softneuro {

Status register_routine_conv2_cpu_float16_nhwc_amx(Registry& registry) {
  const HalfTileOps* const ops = amx_tile_ops();
  if (ops == nullptr) return {};  // not on this processor
  for (const char* layer_type : {"conv1", "conv2", "conv3"})
    SN_RETURN_IF_ERROR(registry.add(make_half_conv(layer_type, "amx", 34, *ops)));
  return {};
}

}  // namespace softneuro
