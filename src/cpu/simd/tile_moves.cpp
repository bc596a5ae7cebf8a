#include "cpu/simd/tile_moves.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(TileMoves, kTileMoves, tile_moves)

}  // namespace softneuro
