#include "cpu/gemm/half_tile.h"

#include <algorithm>

#include "core/base/isa_variants.h"
#include "cpu/simd/float_span.h"
#include "cpu/simd/transpose_tiles.h"

namespace softneuro {

const HalfTileOps<Half>* fp16_tile_ops() noexcept {
#if SN_HAS_AVX512FP16
  static constexpr HalfTileOps<Half> kOps = {isa::avx512fp16, avx512fp16::half_tile,
                                             avx512::epilogue_store_half};
  return &kOps;
#else
  return nullptr;
#endif
}

const HalfTileOps<BFloat16>* bf16_tile_ops() noexcept {
#if SN_HAS_AVX512BF16
  static constexpr HalfTileOps<BFloat16> kOps = {isa::avx512bf16, avx512bf16::half_tile,
                                                 avx512bf16::epilogue_store_bfloat};
  return &kOps;
#else
  return nullptr;
#endif
}

namespace {

// A panel's pair of rows from rows whose kTilePanel numbers are contiguous; second: may be null.
void pack_pair(const std::uint16_t* first, const std::uint16_t* second,
               std::uint32_t* to) noexcept {
  for (std::int64_t j = 0; j < kTilePanel; ++j)
    to[j] = first[j] | (second == nullptr ? 0u : static_cast<std::uint32_t>(second[j]) << 16);
}

}  // namespace

template <class T>
void HalfTileOps<T>::pack(const float* from, std::int64_t segments, std::int64_t length,
                          std::byte* bytes) noexcept {
  auto* to = reinterpret_cast<std::uint32_t*>(bytes);
  for (std::int64_t s = 0; s < segments; ++s, from += length * kTilePanel)
    for (std::int64_t k = 0; k < length; k += 2, to += kTilePanel) {
      std::uint16_t rows[2 * kTilePanel] = {};
      float_spans().store(data_type_of<T>(), from + k * kTilePanel, rows,
                          std::min<std::int64_t>(length - k, 2) * kTilePanel);
      pack_pair(rows, rows + kTilePanel, to);
    }
}
template struct HalfTileOps<Half>;
template struct HalfTileOps<BFloat16>;

void pack_pairs(const std::uint16_t* from, std::int64_t row_stride, std::int64_t column_stride,
                std::int64_t depth, std::int64_t columns, std::byte* bytes) noexcept {
  auto* to = reinterpret_cast<std::uint32_t*>(bytes);
  const std::int64_t pairs = (depth + 1) / 2;
  for (std::int64_t j = 0; j < columns; j += kTilePanel, to += pairs * kTilePanel) {
    const std::uint16_t* const panel = from + j * column_stride;
    const std::int64_t here = std::min(kTilePanel, columns - j);
    if (here == kTilePanel && column_stride == 1) {
      for (std::int64_t k = 0; k < depth; k += 2)
        pack_pair(panel + k * row_stride, k + 1 < depth ? panel + (k + 1) * row_stride : nullptr,
                  to + k / 2 * kTilePanel);
    } else if (here == kTilePanel && row_stride == 1 && depth % 2 == 0 && column_stride % 2 == 0) {
      transpose_tiles().transpose(sizeof *to,
                                  {panel, to, column_stride / 2, kTilePanel, kTilePanel, pairs});
    } else {
      for (std::int64_t k = 0; k < depth; k += 2) {
        std::uint16_t rows[2 * kTilePanel] = {};
        for (std::int64_t i = 0; i < std::min<std::int64_t>(depth - k, 2); ++i)
          for (std::int64_t c = 0; c < here; ++c)
            rows[i * kTilePanel + c] = panel[(k + i) * row_stride + c * column_stride];
        pack_pair(rows, rows + kTilePanel, to + k / 2 * kTilePanel);
      }
    }
  }
}

}  // namespace softneuro
