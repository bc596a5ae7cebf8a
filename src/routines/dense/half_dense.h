// dense by products of float16 numbers, on processors that have instructions for them.
#pragma once

#include "core/gemm/half_tile.h"
#include "core/routine.h"

namespace softneuro {

// The routine cpu:float16/<algorithm> of dense on `ops`, of that default_rank().
// Parameters: see swept_layer.h.
std::unique_ptr<Routine> make_half_dense(std::string_view algorithm, int rank,
                                         const HalfTileOps& ops);

}  // namespace softneuro
