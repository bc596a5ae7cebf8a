// dense cpu/tiled.
#include "core/routine/registry.h"
#include "cpu/gemm/blocked_gemm.h"
#include "routines/dense/packed_dense.h"

namespace softneuro {

Status register_routine_dense_cpu_tiled(Registry& registry) {
  return registry.add(make_packed_dense<TiledGemm<float>>("tiled", 30, {}));
}

}  // namespace softneuro
