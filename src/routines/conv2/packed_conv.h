// Convolution as a product of what each output pixel sees with packed weights, without im2col: rows
// of A are pointers into the input (see conv_rows.h). 1x1 is a plain matrix product.
#pragma once

#include "core/routine/registry.h"

namespace softneuro {

// Adds the routine cpu:<type>:<layout>/<algorithm> of conv1, conv2 and conv3, of that
// rank. Gemm: TiledGemm, HalfGemm or SplitPrecisionGemm, whose numbers are of that type;
// layout: channels_last, or with TiledGemm nchw8c or nchw16c. Parameters: see gemm_layer.h.
template <class Gemm>
Status add_packed_convs(Registry& registry, Layout layout, std::string_view algorithm, int rank,
                        const typename Gemm::Ops& ops);

}  // namespace softneuro
