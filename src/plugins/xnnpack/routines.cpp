#include "plugins/xnnpack/routines.h"

#include "core/base/error.h"
#include "plugins/xnnpack/library.h"

namespace softneuro::xnnpack {

Status add_routines(Registry& registry) {
  if (registry.find("conv2", "cpu:float32:nhwc/xnnpack") != nullptr) return {};
  SN_RETURN_IF_ERROR(prepare_library());
  for (const auto& add : {register_conv2, register_dense, register_pool2, register_binary,
                          register_reduce, register_resize, register_softmax, register_unary})
    SN_RETURN_IF_ERROR(add(registry));
  return {};
}

}  // namespace softneuro::xnnpack
