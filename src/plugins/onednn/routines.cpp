#include "plugins/onednn/routines.h"

#include "core/error.h"
#include "plugins/onednn/library.h"

namespace softneuro::onednn {

Status add_routines(Registry& registry) {
  if (registry.find("conv2", "cpu:float32:nhwc/onednn") != nullptr) return {};
  SN_RETURN_IF_ERROR(prepare_library());
  SN_RETURN_IF_ERROR(register_conv2_float32(registry));
  SN_RETURN_IF_ERROR(register_dense_float32(registry));
  SN_RETURN_IF_ERROR(register_matmul_float32(registry));
  return register_qint8(registry);
}

}  // namespace softneuro::onednn
