#include "cpu/gemm/half_tile.h"

#include <algorithm>

#include "core/base/isa_variants.h"
#include "cpu/simd/float_span.h"

namespace softneuro {

#if SN_HAS_AVX512FP16

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

constexpr HalfTileOps kFp16TileOps = {.needs = isa::avx512fp16,
                                      .max_panels = 4,
                                      .max_rows = {14, 14, 9, 6},
                                      .multiply = avx512fp16::half_tile,
                                      .panel_bytes = pair_bytes,
                                      .pack = pack_pairs,
                                      .store = avx512::epilogue_store_half};

}  // namespace

const HalfTileOps* fp16_tile_ops() noexcept {
  return &kFp16TileOps;
}

#else

const HalfTileOps* fp16_tile_ops() noexcept {
  return nullptr;
}

#endif

}  // namespace softneuro
