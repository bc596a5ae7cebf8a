// The kernel of Winograd convolution; conv2/cpu_wg.cpp says what the choices mean.
#pragma once

#include "core/routine/routine.h"

namespace softneuro {

enum class WgWork : std::uint8_t { apart, together, panels };

struct WgChoice {
  int tile = 6;             // has_wg(tile, taps)
  std::int64_t block = 14;  // tiles that are worked on at a time, >= 1
  WgWork work = WgWork::apart;
};

// Whether the kernel applies the problem's post-ops: of 16-bit tensors an addition and a clamp.
bool wg_takes_post_ops(const Problem& problem);

// For conv2 with a square kernel, stride and dilation 1, one group; nhwc or nchw16c; x and y both
// float32, float16 or bfloat16, all transformed in float32.
// packed: weights by pack_wg_panels (WgWork::panels) or pack_wg_weights (else), then, if there is a
// bias, its elements padded with zeros to whole blocks of kWgBlock.
Result<std::unique_ptr<Kernel>> make_wg_kernel(const Problem& problem, int threads,
                                               const WgChoice& choice, Tensor packed);

}  // namespace softneuro
