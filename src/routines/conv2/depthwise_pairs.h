// Depthwise convolution in bfloat16 by products of pairs (AVX512-BF16): the pixels of two rows of
// the kernel are multiplied at once, in panels of 32 channels.
#pragma once

#include "routines/conv2/narrow_groups.h"

namespace softneuro {

inline constexpr std::int64_t kPairPanel = 32;

// In sums the channels of a panel are in two vectors of 16, in the order that interleaving two
// rows of pixels gives: channel `pair_channel(v, lane)` in lane `lane` of vector v.
constexpr std::int64_t pair_channel(std::int64_t vector, std::int64_t lane) noexcept {
  constexpr std::int64_t kBlock = 4;
  return lane / kBlock * 2 * kBlock + vector * kBlock + lane % kBlock;
}

// Its row is null where this build does not have it.
GroupConvCode depthwise_pairs_code() noexcept;

namespace avx512bf16 {
void depthwise_pairs_row(const GroupConvRow& task) noexcept;
}

}  // namespace softneuro
