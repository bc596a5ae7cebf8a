#include "cpu/gemm/half_tile.h"

#include <algorithm>

#include "core/base/cpu.h"
#include "cpu/simd/float_span.h"

namespace softneuro {

#if defined(SN_ISA_AVX512FP16)

namespace avx512 {
void epilogue_store_half(const EpilogueStore<Half>& store) noexcept;
}
namespace avx512fp16 {
void half_tile(const HalfTile& tile) noexcept;
}

namespace {

// Pairs of a segment's numbers that lie side by side, the odd one with a zero.
constexpr std::int64_t pairs_of(std::int64_t length) {
  return (length + 1) / 2;
}

std::int64_t pair_bytes(std::int64_t segments, std::int64_t length) noexcept {
  return segments * pairs_of(length) * kTilePanel * 4;
}

void pack_pairs(const float* from, std::int64_t segments, std::int64_t length,
                std::byte* bytes) noexcept {
  auto* to = reinterpret_cast<Half*>(bytes);
  for (std::int64_t s = 0; s < segments; ++s, from += length * kTilePanel)
    for (std::int64_t k = 0; k < length; k += 2, to += 2 * kTilePanel) {
      Half pair[2 * kTilePanel];
      const std::int64_t rows = std::min<std::int64_t>(length - k, 2);
      float_spans().store(DataType::float16, from + k * kTilePanel, pair, rows * kTilePanel);
      for (std::int64_t j = 0; j < kTilePanel; ++j) {
        to[2 * j] = pair[j];
        to[2 * j + 1] = pair[kTilePanel + j];
      }
    }
}

constexpr HalfTileOps kFp16TileOps = {4,          {14, 14, 9, 6}, avx512fp16::half_tile,
                                      pair_bytes, pack_pairs,     avx512::epilogue_store_half};

}  // namespace

const HalfTileOps* fp16_tile_ops() noexcept {
  return has_avx512_fp16() ? &kFp16TileOps : nullptr;
}

#else

const HalfTileOps* fp16_tile_ops() noexcept {
  return nullptr;
}

#endif

}  // namespace softneuro
