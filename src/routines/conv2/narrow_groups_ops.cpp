#include "core/base/isa_variants.h"
#include "routines/conv2/narrow_groups.h"

namespace softneuro {

SN_CHOOSE_VARIANT(GroupConvOps, kGroupConvOps, group_conv_ops)

}  // namespace softneuro
