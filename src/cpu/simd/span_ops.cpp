#include "cpu/simd/span_ops.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(SpanOps, kSpanOps, span_ops)

}  // namespace softneuro
