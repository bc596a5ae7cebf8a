// Library plugins of this source tree (core/plugin/intree.h) that are where they are found by
// themselves: in the folder softneuro/plugins beside libsoftneuro, in a build tree as installed.
#pragma once

#include <string>
#include <vector>

#include "core/plugin/intree.h"

namespace softneuro {

struct FoundPlugin {
  std::string path;
  const IntreePlugin* plugin = nullptr;  // null: it cannot be used
  std::string reason;                    // then why, in one line
};

// What is in the folder, in order of name. The folder is read, and its libraries are opened, at
// the first call; they stay open to the process's end, because what they bring with them (an
// OpenMP runtime, say) must not be unloaded. Empty where libsoftneuro is linked statically: a
// plugin would bring a second one.
SN_INTREE const std::vector<FoundPlugin>& found_plugins();

// The folder that is searched, whether it is there or not; empty if none is.
SN_INTREE std::string plugin_folder();

// Why the tag of an in-tree plugin is not this library's; empty if it is.
std::string intree_tag_mismatch(const IntreePlugin& plugin);

}  // namespace softneuro
