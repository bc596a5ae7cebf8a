// What SoftNeuro has and finds here: build, machine, plugins, their libraries, devices, cache.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/plugin/intree.h"
#include "softneuro/net.h"

namespace softneuro::tool {

// Texts that are not known are empty. Paths lead to the files themselves, not to links.

struct BuildReport {
  std::string version, compiler;
  std::string file;        // that libsoftneuro is in
  bool is_shared = false;  // else that file is the program
  std::vector<std::string> importers;
};

struct MachineReport {
  std::string name;
  std::vector<std::string> features;         // that routines may use
  std::vector<std::string> hidden_features;  // that the mask hides
  std::string mask;                          // SOFTNEURO_MAX_ISA
  std::string mask_problem;                  // what is wrong with it
  int cores = 0;                             // that this process may use
  int threads = 0;                           // of a net that is not told how many; 0: none starts
};

enum class PluginState {
  used,
  unavailable,  // it cannot work here
  unusable,     // it cannot be loaded: it is broken, or of another build
  left_out,     // by "none" among the plugins that are named
  missing,
};

struct PluginReport {
  std::string name;  // "onednn"; of plugins from elsewhere that of the file
  std::string path;
  bool named = false;  // by an option or the environment
  PluginState state = PluginState::missing;
  std::string reason;  // of any state but `used`
  std::size_t routines = 0;
  std::vector<PluginLibrary> libraries;
};

struct DeviceReport {
  std::string id, name;
  std::string problem;  // why it cannot be used
};

struct CacheReport {
  std::string folder;
  bool exists = false;
  bool writable = false;  // or can be made
  std::size_t files = 0;
  std::uintmax_t bytes = 0;
};

struct DoctorReport {
  BuildReport build;
  MachineReport machine;
  std::string plugin_folder;  // where library plugins are looked for
  std::vector<PluginReport> plugins;
  std::vector<DeviceReport> devices;
  CacheReport cache;
  std::map<std::string, std::string> environment;  // SOFTNEURO_*
  std::string net_error;  // why no net can be made with these options; empty if it can
};

// What a net with these options gets. Plugins that fail are part of the report.
DoctorReport examine(const NetOptions& options);

CacheReport examine_cache(const std::string& folder);

}  // namespace softneuro::tool
