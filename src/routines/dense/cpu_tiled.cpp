// dense cpu/tiled and cpu:float16/tiled, which computes in float32, too, but whose x, y and packed
// weights are float16 in memory: that halves what a product of few rows has to read.
#include "core/routine/registry.h"
#include "cpu/gemm/blocked_gemm.h"
#include "routines/dense/packed_dense.h"

namespace softneuro {

Status register_routine_dense_cpu_tiled(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(make_packed_dense<TiledGemm<float>>("tiled", 30, {})));
  return registry.add(make_packed_dense<TiledGemm<Half>>("tiled", 5, {}));
}

}  // namespace softneuro
