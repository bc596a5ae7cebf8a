// The tables of *.isa.cpp files that need no other code.
#include "core/base/isa_variants.h"
#include "cpu/simd/quantize_rows.h"
#include "cpu/simd/span_ops.h"
#include "cpu/simd/transpose_tiles.h"

namespace softneuro {

SN_CHOOSE_VARIANT(QuantizeRows, kQuantizeRows, quantize_rows)
SN_CHOOSE_VARIANT(SpanOps, kSpanOps, span_ops)
SN_CHOOSE_VARIANT(TransposeTiles, kTransposeTiles, transpose_tiles)

}  // namespace softneuro
