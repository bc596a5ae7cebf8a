// Plugins from elsewhere (plugin.h): shared libraries whose routines join a registry.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/intree.h"
#include "softneuro/plugin.h"

namespace softneuro {

// An open file of a plugin.
struct PluginFile {
  std::shared_ptr<void> library;         // nullptr: nothing of it is used
  const IntreePlugin* intree = nullptr;  // one of this source tree; also if it is unavailable
};

// Opens the file `path` – a plugin from elsewhere, or one of this source tree (intree.h) –
// and adds its routines. All or nothing: on an error the registry is as it
// was, and `file.library` too. The library stays loaded as long as that, or a routine or kernel of
// it, lives; then it is unloaded, unless it is of this source tree.
//   not_found         there is no such file
//   invalid_argument  not a shared library, no plugin, a malformed table, a layer type that does
//                     not exist, a routine that exists already
//   incompatible      another plugin ABI; an in-tree plugin of another build
//   unsupported       the plugin is unavailable here; this library is built without plugins
SN_INTREE Status load_plugin(const std::string& path, Registry& registry, PluginFile& file);

using PluginEntryFunction = const sn_plugin* (*)(const sn_plugin_host*, char*, std::size_t);

// The same for a plugin whose code is there already. `library`, which may be null, is kept while
// anything of the plugin lives; `path` is for messages.
SN_INTREE Status add_plugin(PluginEntryFunction entry, const std::string& path,
                            std::shared_ptr<void> library, Registry& registry);

// Among the paths of plugins: no plugin is to be found by itself (search_path.h).
inline constexpr std::string_view kNoFoundPlugins = "none";

// The paths in SOFTNEURO_PLUGINS, which are separated by colons. Empty in programs that run with
// more rights than their caller.
std::vector<std::string> plugins_of_environment();

}  // namespace softneuro
