#include "routines/conv2/depthwise_nhwc.h"

#include "core/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(DepthwiseNhwcOps, kDepthwiseNhwcOps, depthwise_nhwc_ops)

}  // namespace softneuro
