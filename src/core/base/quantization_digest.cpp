#include "core/base/quantization_digest.h"

#include "core/base/checksum.h"
#include "core/base/error.h"

namespace softneuro {

std::string digest_of(const Quantization& q) {
  return fmt::format("{}{}:{:x}:{:x}", q.is_signed ? 's' : 'u', q.axis,
                     checksum(q.scales.data(), q.scales.size() * sizeof(float)),
                     checksum(q.zero_points.data(), q.zero_points.size() * sizeof(std::int32_t)));
}

}  // namespace softneuro
