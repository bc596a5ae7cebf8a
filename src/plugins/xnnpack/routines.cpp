#include "plugins/xnnpack/routines.h"

#include "core/error.h"
#include "plugins/xnnpack/library.h"

namespace softneuro::xnnpack {

Status add_routines(Registry& registry) {
  if (registry.find("conv2", "cpu:float32:nhwc/xnnpack") != nullptr) return {};
  SN_RETURN_IF_ERROR(prepare_library());
  SN_RETURN_IF_ERROR(register_conv2(registry));
  SN_RETURN_IF_ERROR(register_dense(registry));
  return register_pool2(registry);
}

}  // namespace softneuro::xnnpack
