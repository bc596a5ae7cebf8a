// How the runtime of a net is made from its options.
#pragma once

#include <memory>

#include "core/plan/runtime.h"
#include "softneuro/net.h"

namespace softneuro {

// The registry (built-in routines, then plugins), the thread pool, the allocator. Errors: those of
// plugins that the options name, and of threads that cannot be started.
SN_INTREE Result<std::shared_ptr<Runtime>> make_runtime(const NetOptions& options);

}  // namespace softneuro
