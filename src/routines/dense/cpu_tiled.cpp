// dense cpu/tiled, cpu:float16/tiled and cpu:bfloat16/tiled. All compute in float32. float16
// weights are packed as they are: that halves what a product of few rows has to read.
#include "core/routine/registry.h"
#include "cpu/gemm/blocked_gemm.h"
#include "routines/dense/packed_dense.h"

namespace softneuro {

Status register_routine_dense_cpu_tiled(Registry& registry) {
  SN_RETURN_IF_ERROR(registry.add(make_packed_dense<TiledGemm<float>>("tiled", 30, {})));
  SN_RETURN_IF_ERROR(registry.add(make_packed_dense<TiledGemm<Half>>("tiled", 5, {})));
  return registry.add(make_packed_dense<TiledGemm<BFloat16>>("tiled", 5, {}));
}

}  // namespace softneuro
