// Layers with weights in 8 bits.
#pragma once

#include "plugins/onednn/weighted_layer.h"

namespace softneuro::onednn {

// The routine of `layer` (which lives as long as the process) in the descriptor's layout. What is
// computed is said in cpu/qint8/weights.h; here the order of roundings in float32 is the
// library's: (acc + bias / scale) · scale, or acc · scale + bias over oneDNN 3, then post-ops, then
// the output's own scale.
std::unique_ptr<Routine> make_qint8_routine(const WeightedLayer& layer, const char* descriptor);

}  // namespace softneuro::onednn
