// dense cpu:float16/amx.
#include "core/registry.h"
#include "routines/dense/half_dense.h"

namespace softneuro {

Status register_routine_dense_cpu_float16_amx(Registry& registry) {
  const HalfTileOps* const ops = amx_tile_ops();
  return ops == nullptr ? Status() : registry.add(make_half_dense("amx", 6, *ops));
}

}  // namespace softneuro
