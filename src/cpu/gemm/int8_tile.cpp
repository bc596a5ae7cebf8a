#include "cpu/gemm/int8_tile.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(Int8TileOps, kInt8TileOps, int8_tile_ops)

Int8TileFunction int8_tile_function() noexcept {
#if SN_HAS_AVX512VNNI
  if (usable_features().has(isa::avx512vnni)) return avx512vnni::int8_tile;
#endif
  return int8_tile_ops().tile;
}

}  // namespace softneuro
