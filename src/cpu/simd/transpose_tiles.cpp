#include "cpu/simd/transpose_tiles.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(TransposeTiles, kTransposeTiles, transpose_tiles)

}  // namespace softneuro
