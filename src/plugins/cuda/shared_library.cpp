#include "plugins/cuda/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "core/base/error.h"

namespace softneuro::cuda {
namespace {

constexpr int kMode = RTLD_NOW | RTLD_LOCAL;

std::vector<std::string> folders() {
  std::vector<std::string> folders;
  if (const char* const named = std::getenv("SOFTNEURO_CUDA_LIBRARIES")) {
    std::istringstream list(named);
    for (std::string folder; std::getline(list, folder, ':');)
      if (!folder.empty()) folders.push_back(folder);
  }
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const home = std::getenv(variable); home != nullptr && *home != '\0')
      folders.push_back(std::string(home) + "/lib64");
  folders.emplace_back("/usr/local/cuda/lib64");
  return folders;
}

void* open_first(std::span<const char* const> names) {
  for (const char* const name : names)
    if (void* const handle = dlopen(name, kMode | RTLD_NOLOAD)) return handle;
  for (const char* const name : names)
    if (void* const handle = dlopen(name, kMode)) return handle;
  for (const std::string& folder : folders())
    for (const char* const name : names)
      if (void* const handle = dlopen((folder + "/" + name).c_str(), kMode)) return handle;
  return nullptr;
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(std::span<const char* const> names) {
  if (void* const handle = open_first(names)) return SharedLibrary(handle);
  return unsupported(
      "{} was not found (searched: the dynamic loader's paths, SOFTNEURO_CUDA_LIBRARIES, "
      "CUDA_HOME, CUDA_PATH, /usr/local/cuda)",
      fmt::join(names.begin(), names.end(), " or "));
}

void* SharedLibrary::symbol(const char* name) const noexcept {
  return dlsym(handle_, name);
}

std::string SharedLibrary::path() const {
  const link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "a library";
  return map->l_name;
}

}  // namespace softneuro::cuda
