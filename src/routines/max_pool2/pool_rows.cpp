#include "routines/max_pool2/pool_rows.h"

#include "core/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(PoolFunctions, kPoolFunctions, pool_functions)

}  // namespace softneuro
