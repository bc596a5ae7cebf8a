// What a library plugin of this source tree (src/plugins/) exports, beside plugin.h's C interface
// for plugins from elsewhere: the C symbol `sn_intree_plugin`, an IntreePlugin.
#pragma once

#include <string>
#include <vector>

#include "core/routine/registry.h"

namespace softneuro {

// One of the libraries that a plugin works with, for people (`softneuro doctor`). A text that is
// not known is empty.
struct PluginLibrary {
  std::string name;     // "oneDNN"
  std::string version;  // "2.6.0", as the loaded library reports it
  std::string path;     // the file that is loaded
  std::string problem;  // why it is not there, or cannot be used; empty if it can
  std::string note;     // what else is to be known: "headers alone"
};

// Its routines use the C++ interface of routine.h, which changes from build to build: they are
// taken only if `tag` is that of the library (intree_tag()).
struct IntreePlugin {
  const char* tag;   // must stay the first member: it is checked before the rest is read
  const char* name;  // "onednn"
  // Adds the routines; does nothing if they are there already. An error says why the plugin cannot
  // work here (what it is built on refuses); the registry is as it was then.
  Status (*add)(Registry& registry);
  // What it works with here, whether add() works or not. May open libraries; no exceptions but
  // std::bad_alloc.
  std::vector<PluginLibrary> (*libraries)();
};

inline constexpr const char* kIntreePluginSymbol = "sn_intree_plugin";

}  // namespace softneuro
