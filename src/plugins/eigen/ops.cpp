#include "plugins/eigen/ops.h"

#include "core/base/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(EigenOps, kEigenOps, eigen_ops)

}  // namespace softneuro
