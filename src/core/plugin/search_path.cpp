#include "core/plugin/search_path.h"

#include <cstring>
#include <string_view>

#include "core/base/error.h"
#include "core/plugin/loaded_file.h"
#include "intree_tag.h"

#if defined(SOFTNEURO_SHARED) && !defined(SOFTNEURO_NO_PLUGINS)
#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>

#include "core/base/file_descriptor.h"
#endif

namespace softneuro {

std::string intree_tag_mismatch(const IntreePlugin& plugin) {
  if (std::strcmp(plugin.tag, SOFTNEURO_INTREE_TAG) == 0) return {};
  return fmt::format("it is built for {}, this library is {}: use the plugins of the same build",
                     plugin.tag, SOFTNEURO_INTREE_TAG);
}

#if !defined(SOFTNEURO_SHARED) || defined(SOFTNEURO_NO_PLUGINS)

const std::vector<FoundPlugin>& found_plugins() {
  static const std::vector<FoundPlugin> none;
  return none;
}

std::string plugin_folder() {
  return {};
}

#else

namespace {

std::vector<std::string> libraries_in(const std::string& folder) {
  std::vector<std::string> paths;
  const OpenFolder listing(opendir(folder.c_str()));
  if (listing == nullptr) return paths;
  while (const dirent* entry = readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name.ends_with(".so")) paths.push_back(folder + '/' + std::string(name));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

FoundPlugin open_plugin(const std::string& path) {
  FoundPlugin found;
  found.path = path;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* text = dlerror();
    found.reason = text != nullptr ? text : "the dynamic linker gives no reason";
    return found;
  }
  const auto* plugin = static_cast<const IntreePlugin*>(dlsym(library, kIntreePluginSymbol));
  if (plugin == nullptr) {
    found.reason =
        "it is not a library plugin of this build: to load it, name it in NetOptions::plugins or "
        "SOFTNEURO_PLUGINS";
    return found;
  }
  found.reason = intree_tag_mismatch(*plugin);
  if (found.reason.empty()) found.plugin = plugin;
  return found;
}

}  // namespace

std::string plugin_folder() {
  const std::string file = library_file();
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? std::string() : file.substr(0, slash) + "/softneuro/plugins";
}

const std::vector<FoundPlugin>& found_plugins() {
  static const std::vector<FoundPlugin> all = [] {
    std::vector<FoundPlugin> plugins;
    const std::string folder = plugin_folder();
    if (folder.empty()) return plugins;
    for (const std::string& path : libraries_in(folder)) plugins.push_back(open_plugin(path));
    return plugins;
  }();
  return all;
}

#endif

}  // namespace softneuro
