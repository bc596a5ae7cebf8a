// dense on packed weights: what the routines for processors with instructions for that have in
// common.
#pragma once

#include "core/routine/routine.h"

namespace softneuro {

// The routine cpu:<type>/<algorithm> of dense, of that default_rank(). Gemm: HalfGemm or
// SplitPrecisionGemm, whose numbers are of that type. Parameters: see gemm_layer.h.
template <class Gemm>
std::unique_ptr<Routine> make_packed_dense(std::string_view algorithm, int rank,
                                           const typename Gemm::Ops& ops);

}  // namespace softneuro
