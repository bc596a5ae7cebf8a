#include "core/tile_moves.h"

#include "core/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(TileMoves, kTileMoves, tile_moves)

}  // namespace softneuro
