// What a library plugin of this source tree (src/plugins/) exports, beside plugin.h's C interface
// for plugins from elsewhere: the C symbol `sn_intree_plugin`, an IntreePlugin.
#pragma once

#include "core/routine/registry.h"

namespace softneuro {

// Its routines use the C++ interface of routine.h, which changes from build to build: they are
// taken only if `tag` is that of the library (intree_tag()).
struct IntreePlugin {
  const char* tag;   // stays first: it is read before anything else is believed
  const char* name;  // "onednn"
  // Adds the routines; does nothing if they are there already. An error says why the plugin cannot
  // work here (what it is built on refuses); the registry is as it was then.
  Status (*add)(Registry& registry);
};

inline constexpr const char* kIntreePluginSymbol = "sn_intree_plugin";

}  // namespace softneuro
