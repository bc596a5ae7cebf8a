// dense cpu:float16/tiled.
#include "core/routine/registry.h"
#include "routines/dense/tiled_dense.h"

namespace softneuro {

Status register_routine_dense_cpu_float16_tiled(Registry& registry) {
  return registry.add(make_tiled_dense(DataType::float16));
}

}  // namespace softneuro
