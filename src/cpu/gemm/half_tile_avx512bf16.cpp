// Products of bfloat16 summed in float32. The instruction takes numbers below float32's smallest
// normal one for zero.
#include <limits>

#include "cpu/gemm/half_tile_loop.h"

namespace softneuro::avx512bf16 {
namespace {

struct BFloat16Sums {
  using Number = BFloat16;
  using Sum = __m512;
  static constexpr std::int64_t kTerms = std::numeric_limits<std::int64_t>::max() / 4;  // all

  SN_INLINE static Sum zero() { return _mm512_setzero_ps(); }
  SN_INLINE static Sum add_products(Sum sum, __m512i a, __m512i b) {
    return _mm512_dpbf16_ps(sum, (__m512bh)b, (__m512bh)a);
  }
  SN_INLINE static __m512 as_floats(Sum sum) { return sum; }
};

constexpr HalfTileTable<BFloat16Sums> kTiles;

}  // namespace

void half_tile(const HalfTile<BFloat16>& tile) noexcept {
  kTiles.run(tile);
}

}  // namespace softneuro::avx512bf16
