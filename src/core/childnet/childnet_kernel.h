// What runs a childnet.
#pragma once

#include <memory>
#include <vector>

#include "core/childnet/childnet.h"

namespace softneuro {

// Runs the kernels of expanded.layers (null for views) in order. Folded tensors have their values
// in expanded.specs. Tensors inside share one workspace by lifetime.
Result<std::unique_ptr<Kernel>> make_childnet_kernel(
    const ExpandedChildnet& expanded, std::vector<std::shared_ptr<const Kernel>> kernels);

}  // namespace softneuro
