// A plugin's routine behind the interface that all routines have.
#pragma once

#include <memory>
#include <string>

#include "core/plugin/entry.h"

namespace softneuro {

// Checks the table entry as far as that can be done without a registry and makes a Routine of it.
// invalid_argument names the field that is wrong.
Result<std::unique_ptr<const Routine>> make_plugin_routine(
    const std::shared_ptr<const LoadedPlugin>& plugin, const sn_plugin_routine* routine);

}  // namespace softneuro
