// conv2 cpu:float32:nhwc/onednn, cpu:float32:nchw16c/onednn and cpu:bfloat16:nhwc/onednn.
#include "core/base/error.h"
#include "core/routine/registry.h"
#include "plugins/onednn/routines.h"
#include "plugins/onednn/weighted_float.h"

namespace softneuro::onednn {

Status register_conv2(Registry& registry) {
  for (const char* descriptor :
       {"cpu:float32:nhwc/onednn", "cpu:float32:nchw16c/onednn", "cpu:bfloat16:nhwc/onednn"})
    SN_RETURN_IF_ERROR(registry.add(make_float_routine(conv2_layer(), descriptor)));
  return {};
}

}  // namespace softneuro::onednn
