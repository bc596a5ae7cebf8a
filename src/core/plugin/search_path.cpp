#include "core/plugin/search_path.h"

#include <cstring>
#include <string_view>

#include "core/base/error.h"
#include "intree_tag.h"

#if defined(SOFTNEURO_SHARED) && !defined(SOFTNEURO_NO_PLUGINS)
#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>
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

#else

namespace {

// The folder of the file that this code lies in; empty if it cannot be told.
std::string own_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&found_plugins), &info) == 0 ||
      info.dli_fname == nullptr)
    return {};
  const std::string_view file = info.dli_fname;
  const std::size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(file.substr(0, slash));
}

std::vector<std::string> libraries_in(const std::string& folder) {
  std::vector<std::string> paths;
  DIR* const listing = opendir(folder.c_str());
  if (listing == nullptr) return paths;
  while (const dirent* entry = readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name.ends_with(".so")) paths.push_back(folder + '/' + std::string(name));
  }
  closedir(listing);
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
    found.reason = "it is no plugin of this source tree: name it in SOFTNEURO_PLUGINS";
    return found;
  }
  found.reason = intree_tag_mismatch(*plugin);
  if (found.reason.empty()) found.plugin = plugin;
  return found;
}

}  // namespace

const std::vector<FoundPlugin>& found_plugins() {
  static const std::vector<FoundPlugin> all = [] {
    std::vector<FoundPlugin> plugins;
    const std::string folder = own_folder();
    if (folder.empty()) return plugins;
    for (const std::string& path : libraries_in(folder + "/softneuro/plugins"))
      plugins.push_back(open_plugin(path));
    return plugins;
  }();
  return all;
}

#endif

}  // namespace softneuro
