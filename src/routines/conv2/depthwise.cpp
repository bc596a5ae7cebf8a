#include "routines/conv2/depthwise.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(DepthwiseOps, kDepthwiseOps, depthwise_ops)

}  // namespace softneuro
