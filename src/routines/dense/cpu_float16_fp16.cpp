// dense cpu:float16/fp16.
#include "core/routine/registry.h"
#include "cpu/gemm/half_gemm.h"
#include "routines/dense/packed_dense.h"

namespace softneuro {

Status register_routine_dense_cpu_float16_fp16(Registry& registry) {
  const auto* const ops = fp16_tile_ops();
  return ops == nullptr ? Status()
                        : registry.add(make_packed_dense<HalfGemm<Half>>("fp16", 4, *ops));
}

}  // namespace softneuro
