// dense cpu/tiled.
#include "core/routine/registry.h"
#include "routines/dense/tiled_dense.h"

namespace softneuro {

Status register_routine_dense_cpu_tiled(Registry& registry) {
  return registry.add(make_tiled_dense(DataType::float32));
}

}  // namespace softneuro
