// Layers with weights in float32 and bfloat16.
#pragma once

#include "plugins/onednn/weighted_layer.h"

namespace softneuro::onednn {

// The routine of `layer` (which lives as long as the process) in the descriptor's layout. `impl`
// names the implementation, among them Winograd's, which the library would not choose by itself;
// `split` says whether the work is partitioned for the threads. Post-ops that an implementation
// does not know are applied to each part when it is done; in bfloat16 the result is rounded before
// them, too. bfloat16 needs a processor that multiplies it: elsewhere the library computes in
// float32, and more slowly than it does on float32 tensors.
std::unique_ptr<Routine> make_float_routine(const WeightedLayer& layer, const char* descriptor);

}  // namespace softneuro::onednn
