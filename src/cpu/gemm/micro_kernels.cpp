#include "cpu/gemm/micro_kernels.h"

#include "core/base/isa_variants.h"
#include "cpu/gemm/gemm.h"

namespace softneuro {

static_assert(kTilePanel == kGemmColumns);

SN_CHOOSE_VARIANT(MicroKernels, kMicroKernels, micro_kernels)

const MicroKernels& micro_kernels_within(std::int64_t most_lanes) noexcept {
  const MicroKernels* best = &micro_kernels(isa::baseline);
  for (const IsaSet& set : kIsaSets)
    if (set.is_variant && usable_features().has(set.needs))
      if (const MicroKernels& kernels = micro_kernels(set.needs); kernels.lanes <= most_lanes)
        best = &kernels;
  return *best;
}

}  // namespace softneuro
