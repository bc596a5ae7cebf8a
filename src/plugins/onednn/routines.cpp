#include "plugins/onednn/routines.h"

#include "core/error.h"
#include "plugins/onednn/library.h"

namespace softneuro::onednn {

Status add_routines(Registry& registry) {
  if (registry.find("conv2", "cpu:float32:nhwc/onednn") != nullptr) return {};
  SN_RETURN_IF_ERROR(prepare_library());
  return register_conv2_float32(registry);
}

}  // namespace softneuro::onednn
