// Sizes that a model leaves open, as far as they follow from what is given.
#pragma once

#include <span>
#include <string>

#include "softneuro/softneuro.h"

namespace softneuro::tool {

struct OpenSizes {
  std::string batch;    // what is taken for open batches, as a message; empty if nothing is
  std::string missing;  // inputs whose sizes remain open, as a message; empty if there are none
};

// Adds to `shapes` the inputs that it lacks: sizes whose symbols the given shapes bind, and 1 for
// an open first dimension, the batch.
OpenSizes complete_shapes(std::span<const TensorInfo> inputs, NamedShapes& shapes);

// Adds to `shapes` the inputs that it lacks, as the net was tuned for, but with the sizes whose
// symbols the given shapes bind.
void complete_shapes_from(const NamedShapes& tuned, std::span<const TensorInfo> inputs,
                          NamedShapes& shapes);

}  // namespace softneuro::tool
