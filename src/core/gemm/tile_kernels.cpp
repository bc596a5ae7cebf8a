#include "core/gemm/tile_kernels.h"

#include "core/gemm/gemm.h"
#include "core/isa_variants.h"

namespace softneuro {

static_assert(kTilePanel == kGemmColumns);

SN_CHOOSE_VARIANT(TileKernels, kTileKernels, tile_kernels)

}  // namespace softneuro
