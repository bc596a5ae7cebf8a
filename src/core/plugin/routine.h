// A plugin's routine behind the interface that all routines have.
#pragma once

#include <memory>
#include <string>

#include "core/plugin/host.h"

namespace softneuro {

// What the routines and kernels of one plugin share; the library stays loaded as long as one lives.
struct LoadedPlugin {
  std::string name;
  std::shared_ptr<void> library;  // null: the plugin is linked in
};

// Checks the table entry as far as that can be done without a registry and makes a Routine of it.
// invalid_argument names the field that is wrong.
Result<std::unique_ptr<const Routine>> make_plugin_routine(
    const std::shared_ptr<const LoadedPlugin>& plugin, const sn_plugin_routine* routine);

}  // namespace softneuro
