// Multiply-accumulates and bytes of a problem, for GFLOP/s, GB/s and the share of work per data
// type. The layer types count them: LayerType::macs and steps.
#pragma once

#include "core/routine/problem.h"

namespace softneuro {

struct LayerCost {
  // Multiply-accumulates of the definition: places in padding count, algorithms that save
  // multiplications (Winograd) do not. 0 for layer types that are not sums of products.
  double macs = 0;
  // Steps by the definition, roughly: multiply-accumulates, places under the windows of a pool,
  // pairs of boxes. 0 for layer types that touch each element once.
  double steps = 0;
  // Bytes of all inputs and outputs, each touched once, in the formats of the problem; constants
  // as the model has them.
  double bytes = 0;
};

// LayerCost::steps, or at least elements read and written.
SN_INTREE double layer_steps(const Problem& problem);

// Doubles: exact up to 2^53, and no size overflows them. Data-dependent outputs count nothing.
SN_INTREE LayerCost layer_cost(const Problem& problem);

}  // namespace softneuro
