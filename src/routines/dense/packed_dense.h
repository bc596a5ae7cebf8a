// dense on packed weights: what the routines for processors with instructions for that have in
// common.
#pragma once

#include "core/routine/routine.h"

namespace softneuro {

// The routine cpu:<type>/<algorithm> of dense, of that default_rank(). Sweep: HalfSweep or
// SplitSweep, whose numbers are of that type. Parameters: see swept_layer.h.
template <class Sweep>
std::unique_ptr<Routine> make_packed_dense(std::string_view algorithm, int rank,
                                           const typename Sweep::Ops& ops);

}  // namespace softneuro
