#include "routines/conv2/depthwise_pairs.h"

#include "core/base/isa_variants.h"
#include "softneuro/types.h"

namespace softneuro {

namespace {

constexpr std::int64_t kVectors = 2, kLanes = kPairPanel / kVectors;

bool takes(const WindowAxis&, const WindowAxis& x) noexcept {
  const bool is_known = x.stride == 1   ? x.kernel == 3 || x.kernel == 5 || x.kernel == 7
                        : x.stride == 2 ? x.kernel == 3 || x.kernel == 5
                                        : false;
  return is_known && x.dilation == 1;
}

std::int64_t panel_bytes(std::int64_t, std::int64_t rows, std::int64_t columns) noexcept {
  return (rows + 1) / 2 * columns * kPairPanel * 2 * static_cast<std::int64_t>(sizeof(BFloat16));
}

// For each two rows of the kernel and each column, 32 pairs of weights; the last row of an odd
// number is paired with zeros.
void pack(const float* from, std::int64_t, std::int64_t rows, std::int64_t columns,
          void* bytes) noexcept {
  auto* to = static_cast<BFloat16*>(bytes);
  for (std::int64_t r = 0; r < rows; r += 2)
    for (std::int64_t k = 0; k < columns; ++k)
      for (std::int64_t v = 0; v < kVectors; ++v)
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
          const float* const channel = from + pair_channel(v, lane) * rows * columns;
          *to++ = to_bfloat16(channel[r * columns + k]);
          *to++ = to_bfloat16(r + 1 < rows ? channel[(r + 1) * columns + k] : 0.0f);
        }
}

void pack_bias(const float* from, float* to) noexcept {
  for (std::int64_t v = 0; v < kVectors; ++v)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) *to++ = from[pair_channel(v, lane)];
}

}  // namespace

GroupConvCode depthwise_pairs_code() noexcept {
  GroupConvCode code;
  code.algorithm = "depthwise_bf16";
  code.panel = kPairPanel;
  code.takes = takes;
  code.panel_bytes = panel_bytes;
  code.pack = pack;
  code.pack_bias = pack_bias;
#if SN_HAS_AVX512BF16
  code.row = avx512bf16::depthwise_pairs_row;
  code.needs = isa::avx512bf16;
#endif
  return code;
}

}  // namespace softneuro
