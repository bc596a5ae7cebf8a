// dense cpu/amx, cpu:float16/amx and cpu:bfloat16/amx.
#include "core/routine/registry.h"
#include "cpu/gemm/split_precision_gemm.h"
#include "routines/dense/packed_dense.h"

namespace softneuro {

Status register_routine_dense_cpu_amx(Registry& registry) {
  const auto* const floats = split_tile_ops<float>();
  const auto* const halves = split_tile_ops<Half>();
  const auto* const bfloats = split_tile_ops<BFloat16>();
  if (floats == nullptr || halves == nullptr || bfloats == nullptr)
    return {};  // not on this processor
  SN_RETURN_IF_ERROR(registry.add(make_packed_dense<SplitPrecisionGemm<float>>("amx", 8, *floats)));
  SN_RETURN_IF_ERROR(registry.add(make_packed_dense<SplitPrecisionGemm<Half>>("amx", 6, *halves)));
  return registry.add(make_packed_dense<SplitPrecisionGemm<BFloat16>>("amx", 16, *bfloats));
}

}  // namespace softneuro
