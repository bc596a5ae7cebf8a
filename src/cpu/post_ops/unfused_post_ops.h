// Post-ops behind kernels that do not take them: any routine of the CPU serves a fused layer.
#pragma once

#include <memory>

#include "core/routine/registry.h"

namespace softneuro {

// Runs `base`, which was made for the problem without post-ops, with its layer inputs; then the
// post-ops of `problem` work in place on output 0. unsupported where an op would change the data
// type.
SN_INTREE Result<std::unique_ptr<Kernel>> append_post_ops(std::unique_ptr<Kernel> base,
                                                          const Problem& problem);

// The same for Registry::set_unfused_post_ops.
SN_INTREE UnfusedPostOps cpu_unfused_post_ops();

}  // namespace softneuro
