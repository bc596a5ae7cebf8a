// XNNPACK as this process uses it. It is called without a thread pool of its own: every operator
// runs on the thread that calls it (docs/internals/threads.md).
#pragma once

#include <xnnpack.h>

#include "core/plugin/intree.h"

namespace softneuro::xnnpack {

// Once per process, before anything else of the library is used. unsupported if the processor is
// not one that it knows, or if SOFTNEURO_MAX_ISA hides a level: the library has no mask.
Status prepare_library();

// "xnnpack 2022": the library does not tell its version; Debian's is a snapshot of that year.
const char* library_name();
std::vector<PluginLibrary> libraries();

// ok, out_of_memory, unsupported or internal, the message naming `what` was tried.
Status status_of(xnn_status status, const char* what);

}  // namespace softneuro::xnnpack
