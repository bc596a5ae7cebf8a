#include "cpu/gemm/micro_kernels.h"

#include "core/base/isa_variants.h"
#include "cpu/gemm/gemm.h"

namespace softneuro {

static_assert(kTilePanel == kGemmColumns);

SN_CHOOSE_VARIANT(MicroKernels, kMicroKernels, micro_kernels)

}  // namespace softneuro
