#include "cpu/simd/quantize_rows.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(QuantizeRows, kQuantizeRows, quantize_rows)

}  // namespace softneuro
