#include "routines/layer_norm/row_norm.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(RowNorm, kRowNorm, row_norm)

}  // namespace softneuro
