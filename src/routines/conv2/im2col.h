// im2col, a panel at a time: the patches that a convolution's kernel meets, as matrix B of a GEMM.
#pragma once

#include "core/layers/window.h"
#include "cpu/gemm/gemm.h"

namespace softneuro {

// B has one column per output position (row-major) and one row per input channel and kernel
// position. Packs panel `panel` of it, channels · kernel positions · kGemmColumns floats.
// `x` begins at the first of `channels` channels of one image. What is in the padding is zero.
void pack_patches(const Window& window, std::int64_t channels, const float* x, std::int64_t panel,
                  float* packed) noexcept;

}  // namespace softneuro
