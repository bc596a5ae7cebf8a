// dense cpu:float16/tiled: computes in float32, but x, y and the packed weights are float16 in
// memory, which halves what a product of few rows has to read.
#include "core/routine/registry.h"
#include "cpu/gemm/blocked_gemm.h"
#include "routines/dense/packed_dense.h"

namespace softneuro {

Status register_routine_dense_cpu_float16_tiled(Registry& registry) {
  return registry.add(make_packed_dense<TiledGemm<Half>>("tiled", 5, {}));
}

}  // namespace softneuro
