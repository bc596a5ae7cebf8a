#include "core/span_ops.h"

#include "core/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(SpanOps, kSpanOps, span_ops)

}  // namespace softneuro
