// A routine of a plugin's table.
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

struct PluginEntry {
  std::shared_ptr<const LoadedPlugin> plugin;
  const sn_plugin_routine* self = nullptr;  // the plugin's entry, which its functions get
  sn_plugin_routine table{};                // a copy: fields that the plugin does not know are null

  // What becomes of a function of the table that can fail.
  template <class Function, class... Arguments>
  Status call(Function function, Arguments... arguments) const {
    PluginMessage message;
    const sn_plugin_status code = function(self, arguments..., message.data(), message.size());
    if (code == SN_PLUGIN_OK) return {};
    return plugin_status(code, message).with_context("plugin '" + plugin->name + '\'');
  }

  RoutineParams default_params(const PluginProblem& problem) const {
    RoutineParams params;
    if (table.default_params != nullptr) table.default_params(self, &problem, to_plugin(params));
    return params;
  }
  Applicability applicable(const Problem& problem) const {
    const PluginProblem view(problem);
    PluginMessage reason;
    if (table.applicable(self, &view, reason.data(), reason.size()) != 0)
      return Applicability::yes();
    return Applicability::no(reason.text());
  }
};

}  // namespace softneuro
