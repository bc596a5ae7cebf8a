#include "core/base/checksum.h"

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace softneuro {

std::uint64_t checksum(const void* data, std::size_t bytes, std::size_t zeros) noexcept {
  if (zeros == 0) return XXH3_64bits(data, bytes);
  static constexpr unsigned char kZeros[64] = {};
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  if (bytes > 0) XXH3_64bits_update(&state, data, bytes);
  XXH3_64bits_update(&state, kZeros, zeros);
  return XXH3_64bits_digest(&state);
}

}  // namespace softneuro
