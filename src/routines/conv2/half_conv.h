// Convolution in nhwc by products of float16 numbers, without im2col (see direct_conv.h): what the
// routines for processors with such instructions have in common.
#pragma once

#include "core/gemm/half_tile.h"
#include "core/routine.h"

namespace softneuro {

// The routine cpu:float16:nhwc/<algorithm> of conv1, conv2 or conv3 on `ops`, of that
// default_rank(). Parameters: see swept_layer.h.
std::unique_ptr<Routine> make_half_conv(std::string_view layer_type, std::string_view algorithm,
                                        int rank, const HalfTileOps& ops);

}  // namespace softneuro
