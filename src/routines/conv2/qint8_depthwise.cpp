#include "routines/conv2/qint8_depthwise.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(Qint8DepthwiseOps, kQint8DepthwiseOps, qint8_depthwise_ops)

Qint8DepthwiseFunction qint8_depthwise_function() noexcept {
#if SN_HAS_AVX512VNNI
  if (usable_features().has(isa::avx512vnni)) return avx512vnni::qint8_depthwise;
#endif
  return qint8_depthwise_ops().run;
}

}  // namespace softneuro
