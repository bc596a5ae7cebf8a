#include "routines/layer_norm/row_norm.h"

#include "core/base/cpu.h"

namespace softneuro {

namespace baseline {
extern const RowNorm kRowNorm;
}
#ifdef SN_ISA_X86
namespace avx2 {
extern const RowNorm kRowNorm;
}
namespace avx512 {
extern const RowNorm kRowNorm;
}
#endif

const RowNorm& row_norm() noexcept {
#ifdef SN_ISA_X86
  switch (current_isa()) {
    case Isa::avx512:
      return avx512::kRowNorm;
    case Isa::avx2:
      return avx2::kRowNorm;
    default:
      break;
  }
#endif
  return baseline::kRowNorm;
}

}  // namespace softneuro
