#include "cpu/gemm/int8_tile.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(Int8TileOps, kInt8TileOps, int8_tile_variant)

Int8TileOps int8_tile_ops(CpuFeatures features) noexcept {
#if SN_HAS_AVX512VNNI
  if (features.has(isa::avx512vnni)) return {avx512vnni::int8_tile, false};
#endif
  return int8_tile_variant(features);
}

Int8TileOps int8_tile_ops() noexcept {
  return int8_tile_ops(usable_features());
}

}  // namespace softneuro
