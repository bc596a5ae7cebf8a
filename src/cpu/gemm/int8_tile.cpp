#include "cpu/gemm/int8_tile.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(Int8TileOps, kInt8TileOps, int8_tile_ops)

#if defined(SN_ISA_X86)
namespace avx512vnni {
void int8_tile(const Int8Tile& tile) noexcept;
}
#endif

Int8TileFunction int8_tile_function(Isa isa) noexcept {
  return int8_tile_ops(isa).tile;
}

Int8TileFunction int8_tile_function() noexcept {
#if defined(SN_ISA_X86)
  if (has_avx512_vnni()) return avx512vnni::int8_tile;
#endif
  return int8_tile_ops().tile;
}

}  // namespace softneuro
