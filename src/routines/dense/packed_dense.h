// dense on packed weights: rows of x are read in place.
#pragma once

#include "core/routine/routine.h"

namespace softneuro {

// The routine cpu:<type>/<algorithm> of dense, of that rank. Gemm: TiledGemm, HalfGemm or
// SplitPrecisionGemm, whose numbers are of that type. Parameters: see gemm_layer.h.
template <class Gemm>
std::unique_ptr<Routine> make_packed_dense(std::string_view algorithm, int rank,
                                           const typename Gemm::Ops& ops);

}  // namespace softneuro
