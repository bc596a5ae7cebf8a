// dense cpu/amx, cpu:float16/amx and cpu:bfloat16/amx.
#include "core/routine/registry.h"
#include "cpu/gemm/split_precision_gemm.h"
#include "routines/dense/packed_dense.h"

namespace softneuro {

Status register_routine_dense_cpu_amx(Registry& registry) {
  if (split_tile_ops<float>() == nullptr) return {};  // nor the others: not in this build
  SN_RETURN_IF_ERROR(registry.add(
      make_packed_dense<SplitPrecisionGemm<float>>("amx", 8, *split_tile_ops<float>())));
  SN_RETURN_IF_ERROR(
      registry.add(make_packed_dense<SplitPrecisionGemm<Half>>("amx", 6, *split_tile_ops<Half>())));
  return registry.add(
      make_packed_dense<SplitPrecisionGemm<BFloat16>>("amx", 16, *split_tile_ops<BFloat16>()));
}

}  // namespace softneuro
