// Convolution in nhwc on packed weights, without im2col (see direct_conv.h): what the routines for
// processors with instructions for that have in common.
#pragma once

#include "core/routine/routine.h"

namespace softneuro {

// The routine cpu:<type>:nhwc/<algorithm> of conv1, conv2 or conv3, of that default_rank(). Gemm:
// HalfGemm or SplitPrecisionGemm, whose numbers are of that type. Parameters: see gemm_layer.h.
template <class Gemm>
std::unique_ptr<Routine> make_packed_conv(std::string_view layer_type, std::string_view algorithm,
                                          int rank, const typename Gemm::Ops& ops);

}  // namespace softneuro
