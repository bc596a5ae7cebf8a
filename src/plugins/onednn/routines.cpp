#include "plugins/onednn/routines.h"

#include "core/base/error.h"
#include "plugins/onednn/library.h"

namespace softneuro::onednn {

Status add_routines(Registry& registry) {
  if (registry.find("conv2", "cpu:float32:nhwc/onednn") != nullptr) return {};
  SN_RETURN_IF_ERROR(prepare_library());
  for (const auto& add :
       {register_float, register_qint8, register_batch_norm, register_binary, register_pool2,
        register_recurrent, register_reduce, register_resize, register_softmax, register_unary})
    SN_RETURN_IF_ERROR(add(registry));
  return {};
}

}  // namespace softneuro::onednn
