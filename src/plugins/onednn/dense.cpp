// dense cpu/onednn and cpu:bfloat16/onednn.
#include "core/base/error.h"
#include "core/routine/registry.h"
#include "plugins/onednn/routines.h"
#include "plugins/onednn/weighted_float.h"

namespace softneuro::onednn {

Status register_dense(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(make_float_routine(dense_layer(), "cpu/onednn")));
  return registry.add(make_float_routine(dense_layer(), "cpu:bfloat16/onednn"));
}

}  // namespace softneuro::onednn
