// dense cpu:bfloat16/bf16.
#include "core/routine/registry.h"
#include "cpu/gemm/half_gemm.h"
#include "routines/dense/packed_dense.h"

namespace softneuro {

Status register_routine_dense_cpu_bfloat16_bf16(Registry& registry) {
  const auto* const ops = bf16_tile_ops();
  if (ops == nullptr) return {};  // not in this build
  return registry.add(make_packed_dense<HalfGemm<BFloat16>>("bf16", 15, *ops));
}

}  // namespace softneuro
