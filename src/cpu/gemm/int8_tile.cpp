#include "cpu/gemm/int8_tile.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(Int8TileOps, kInt8TileOps, int8_tile_ops)

#if SN_HAS_AVX512VNNI
namespace avx512vnni {
void int8_tile(const Int8Tile& tile) noexcept;
}
#endif

Int8TileFunction int8_tile_function() noexcept {
#if SN_HAS_AVX512VNNI
  if (usable_features().has(isa::avx512vnni)) return avx512vnni::int8_tile;
#endif
  return int8_tile_ops().tile;
}

}  // namespace softneuro
