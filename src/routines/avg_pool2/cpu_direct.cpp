// avg_pool1, avg_pool2, avg_pool3 cpu/direct: see max_pool2/pool_rows.isa.cpp. float32, float16,
// bfloat16 and qint8, in all layouts.
#include "routines/max_pool2/direct_pool.h"

namespace softneuro {

Status register_routine_avg_pool2_cpu_direct(Registry& registry) {
  return register_direct_pools(registry, {"avg_pool1", "avg_pool2", "avg_pool3"}, PoolKind::mean);
}

}  // namespace softneuro
