// matmul cpu/tiled and cpu:float16/tiled.
#include "core/routine/registry.h"
#include "routines/matmul/tiled_matmul.h"

namespace softneuro {

Status register_routine_matmul_cpu_tiled(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(make_tiled_matmul(DataType::float32)));
  return registry.add(make_tiled_matmul(DataType::float16));
}

}  // namespace softneuro
