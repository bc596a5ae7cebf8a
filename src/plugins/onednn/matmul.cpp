// matmul cpu/onednn.
#include "core/routine/registry.h"
#include "plugins/onednn/routines.h"
#include "plugins/onednn/weighted_float32.h"

namespace softneuro::onednn {

Status register_matmul_float32(Registry& registry) {
  return registry.add(make_float32_routine(matmul_layer(), "cpu/onednn"));
}

}  // namespace softneuro::onednn
