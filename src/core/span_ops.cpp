#include "core/span_ops.h"

namespace softneuro {

namespace baseline {
extern const SpanOps kSpanOps;
}
#if defined(SN_ISA_X86)
namespace avx2 {
extern const SpanOps kSpanOps;
}
namespace avx512 {
extern const SpanOps kSpanOps;
}
#endif

const SpanOps& span_ops() noexcept {
  return span_ops(current_isa());
}

const SpanOps& span_ops([[maybe_unused]] Isa isa) noexcept {
#if defined(SN_ISA_X86)
  switch (isa) {
    case Isa::avx512:
      return avx512::kSpanOps;
    case Isa::avx2:
      return avx2::kSpanOps;
    case Isa::baseline:
      break;
  }
#endif
  return baseline::kSpanOps;
}

}  // namespace softneuro
