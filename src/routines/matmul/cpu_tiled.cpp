// matmul cpu/tiled.
#include "core/routine/registry.h"
#include "routines/matmul/tiled_matmul.h"

namespace softneuro {

Status register_routine_matmul_cpu_tiled(Registry& registry) {
  return registry.add(make_tiled_matmul(DataType::float32));
}

}  // namespace softneuro
