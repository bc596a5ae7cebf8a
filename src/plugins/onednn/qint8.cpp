// conv2 cpu:qint8:nhwc/onednn and dense cpu:qint8/onednn.
#include "core/base/error.h"
#include "core/routine/registry.h"
#include "plugins/onednn/routines.h"
#include "plugins/onednn/weighted_qint8.h"

namespace softneuro::onednn {

Status register_qint8(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(make_qint8_routine(conv2_layer(), "cpu:qint8:nhwc/onednn")));
  return registry.add(make_qint8_routine(dense_layer(), "cpu:qint8/onednn"));
}

}  // namespace softneuro::onednn
