#include "routines/conv2/depthwise.h"

#include "core/base/cpu.h"

namespace softneuro {

namespace baseline {
void depthwise_rows(const DepthwiseRows& task) noexcept;
}
#ifdef SN_ISA_X86
namespace avx2 {
void depthwise_rows(const DepthwiseRows& task) noexcept;
}
namespace avx512 {
void depthwise_rows(const DepthwiseRows& task) noexcept;
}
#endif

DepthwiseFunction depthwise_function() noexcept {
#ifdef SN_ISA_X86
  switch (current_isa()) {
    case Isa::avx512:
      return avx512::depthwise_rows;
    case Isa::avx2:
      return avx2::depthwise_rows;
    default:
      break;
  }
#endif
  return baseline::depthwise_rows;
}

}  // namespace softneuro
