#include "routines/max_pool2/pool_rows.h"

#include "core/cpu.h"

namespace softneuro {

namespace baseline {
extern const PoolFunctions kPoolFunctions;
}
#ifdef SN_ISA_X86
namespace avx2 {
extern const PoolFunctions kPoolFunctions;
}
namespace avx512 {
extern const PoolFunctions kPoolFunctions;
}
#endif

const PoolFunctions& pool_functions() noexcept {
#ifdef SN_ISA_X86
  switch (current_isa()) {
    case Isa::avx512:
      return avx512::kPoolFunctions;
    case Isa::avx2:
      return avx2::kPoolFunctions;
    default:
      break;
  }
#endif
  return baseline::kPoolFunctions;
}

}  // namespace softneuro
