#include "core/gemm/half_tile.h"

#include <algorithm>

#include "core/cpu.h"
#include "core/float_span.h"

namespace softneuro {

#if defined(SN_ISA_AVX512FP16) || defined(SN_ISA_AMXBF16)
namespace avx512 {
void half_store(const HalfStore& store) noexcept;
}
#endif

#if defined(SN_ISA_AVX512FP16)

namespace avx512fp16 {
void half_tile(const HalfTile& tile) noexcept;
}

namespace {

// Pairs of a segment's numbers that lie side by side, the odd one with a zero.
constexpr std::int64_t pairs_of(std::int64_t length) {
  return (length + 1) / 2;
}

std::int64_t pair_bytes(std::int64_t segments, std::int64_t length) noexcept {
  return segments * pairs_of(length) * kHalfPanel * 4;
}

void pack_pairs(const float* from, std::int64_t segments, std::int64_t length,
                std::byte* bytes) noexcept {
  auto* to = reinterpret_cast<Half*>(bytes);
  for (std::int64_t s = 0; s < segments; ++s, from += length * kHalfPanel)
    for (std::int64_t k = 0; k < length; k += 2, to += 2 * kHalfPanel) {
      Half pair[2 * kHalfPanel];
      const std::int64_t rows = std::min<std::int64_t>(length - k, 2);
      float_spans().store(DataType::float16, from + k * kHalfPanel, pair, rows * kHalfPanel);
      for (std::int64_t j = 0; j < kHalfPanel; ++j) {
        to[2 * j] = pair[j];
        to[2 * j + 1] = pair[kHalfPanel + j];
      }
    }
}

constexpr HalfTileOps kFp16TileOps = {4,          {14, 14, 9, 6}, avx512fp16::half_tile,
                                      pair_bytes, pack_pairs,     avx512::half_store};

}  // namespace

const HalfTileOps* fp16_tile_ops() noexcept {
  return has_avx512_fp16() ? &kFp16TileOps : nullptr;
}

#else

const HalfTileOps* fp16_tile_ops() noexcept {
  return nullptr;
}

#endif

#if defined(SN_ISA_AMXBF16)

namespace amxbf16 {
void half_tile(const HalfTile& tile) noexcept;
}

namespace {

constexpr std::int64_t kSplitStep = 32;                           // numbers of the depth in a tile
constexpr std::int64_t kSplitPairs = kSplitStep / 2;              // rows of a tile of B
constexpr std::int64_t kSplitTile = 2 * kSplitStep * kHalfPanel;  // bytes

std::int64_t split_bytes(std::int64_t segments, std::int64_t length) noexcept {
  return (segments * length + kSplitStep - 1) / kSplitStep * 2 * kSplitTile;
}

// For each step of the depth a tile of the weights' upper bits and one of what these lack; in a
// tile the numbers of a pair side by side. In 16 bits together: more than float16 has.
void pack_split(const float* from, std::int64_t segments, std::int64_t length,
                std::byte* bytes) noexcept {
  const std::int64_t depth = segments * length;
  for (std::int64_t first = 0; first < depth; first += kSplitStep, bytes += 2 * kSplitTile) {
    auto* hi = reinterpret_cast<BFloat16*>(bytes);
    auto* lo = reinterpret_cast<BFloat16*>(bytes + kSplitTile);
    for (std::int64_t pair = 0; pair < kSplitPairs; ++pair)
      for (std::int64_t j = 0; j < kHalfPanel; ++j)
        for (std::int64_t k = first + 2 * pair; k < first + 2 * pair + 2; ++k, ++hi, ++lo) {
          const float weight = k < depth ? from[k * kHalfPanel + j] : 0.0f;
          *hi = to_bfloat16(weight);
          *lo = to_bfloat16(weight - to_float(*hi));
        }
  }
}

constexpr int kAmxRows = kHalfMaxRows;
constexpr HalfTileOps kAmxTileOps = {16,
                                     {kAmxRows, kAmxRows, kAmxRows, kAmxRows},
                                     amxbf16::half_tile,
                                     split_bytes,
                                     pack_split,
                                     avx512::half_store};

}  // namespace

const HalfTileOps* amx_tile_ops() noexcept {
  return has_amx_bf16() ? &kAmxTileOps : nullptr;
}

#else

const HalfTileOps* amx_tile_ops() noexcept {
  return nullptr;
}

#endif

}  // namespace softneuro
