// max_pool1, max_pool2, max_pool3 cpu/direct: see max_pool2/pool_rows.isa.cpp. float32, float16,
// bfloat16 and qint8, in all layouts.
#include "routines/max_pool2/direct_pool.h"

namespace softneuro {

Status register_routine_max_pool2_cpu_direct(Registry& registry) {
  return register_direct_pools(registry, {"max_pool1", "max_pool2", "max_pool3"}, PoolKind::max);
}

}  // namespace softneuro
