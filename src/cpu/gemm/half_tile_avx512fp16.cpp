// Products in float16: of a column's two lanes one sums the products of even, one those of odd
// numbers of the depth, so that the sums are half as long.
#include "cpu/gemm/half_tile_loop.h"

namespace softneuro::avx512fp16 {
namespace {

struct Float16Sums {
  using Number = Half;
  using Sum = __m512h;
  static constexpr std::int64_t kTerms = kHalfTerms;

  SN_INLINE static Sum zero() { return _mm512_setzero_ph(); }
  SN_INLINE static Sum add_products(Sum sum, __m512i a, __m512i b) {
    return _mm512_fmadd_ph(_mm512_castsi512_ph(a), _mm512_castsi512_ph(b), sum);
  }
  SN_INLINE static __m512 as_floats(Sum sum) {
    const Sum odd = _mm512_castsi512_ph(_mm512_srli_epi32(_mm512_castph_si512(sum), 16));
    const __m512i both = _mm512_castph_si512(_mm512_add_ph(sum, odd));
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(both));
  }
};

constexpr HalfTileTable<Float16Sums> kTiles;

}  // namespace

void half_tile(const HalfTile<Half>& tile) noexcept {
  kTiles.run(tile);
}

}  // namespace softneuro::avx512fp16
