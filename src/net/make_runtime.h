// How the runtime of a net is made from its options.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plan/runtime.h"
#include "core/plugin/intree.h"
#include "softneuro/net.h"

namespace softneuro {

// What became of one plugin.
struct PluginLoad {
  std::string path;
  bool named = false;        // by the options or the environment; else it is beside the library
  Status status;             // ok: it is used; unsupported: unavailable; else it cannot be used
  std::size_t routines = 0;  // that it brought
  const IntreePlugin* intree = nullptr;  // one of this source tree, also if unavailable
};

// The paths that name plugins: those of the options, else those of the environment.
SN_INTREE std::vector<std::string> named_plugins(const NetOptions& options);

// The registry (built-in routines, then plugins), the thread pool, the allocator. Errors: those of
// plugins that are named, and of threads that cannot be started. `loads`, unless null, gets what
// became of each plugin, in order; then one that fails does not fail the runtime.
SN_INTREE Result<std::shared_ptr<Runtime>> make_runtime(const NetOptions& options,
                                                        std::vector<PluginLoad>* loads = nullptr);

}  // namespace softneuro
