// dense cpu:float16/amx.
#include "core/routine/registry.h"
#include "cpu/gemm/split_precision_gemm.h"
#include "routines/dense/packed_dense.h"

namespace softneuro {

Status register_routine_dense_cpu_float16_amx(Registry& registry) {
  const auto* const ops = split_tile_ops<Half>();
  return ops == nullptr ? Status()
                        : registry.add(make_packed_dense<SplitPrecisionGemm<Half>>("amx", 6, *ops));
}

}  // namespace softneuro
