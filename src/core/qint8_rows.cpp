#include "core/qint8_rows.h"

#include "core/isa_variants.h"

namespace softneuro {

SN_CHOOSE_VARIANT(Qint8Rows, kQint8Rows, qint8_rows)

bool is_same_quantization(const Quantization& a, const Quantization& b) noexcept {
  return a.is_signed == b.is_signed && a.scales == b.scales && a.zero_points == b.zero_points &&
         (a.axis == b.axis || (is_per_tensor(a) && is_per_tensor(b)));
}

}  // namespace softneuro
