#include "plugins/cuda/libraries/shared_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "core/base/error.h"

namespace softneuro::cuda {
namespace {

constexpr int kMode = RTLD_NOW | RTLD_LOCAL;
constexpr const char* kUsersFolders = "SOFTNEURO_CUDA_LIBRARIES";

struct Folder {
  std::string path, rule;
};

std::vector<Folder> users_folders() {
  std::vector<Folder> folders;
  const char* const named = std::getenv(kUsersFolders);
  std::istringstream list(named == nullptr ? "" : named);
  for (std::string folder; std::getline(list, folder, ':');)
    if (!folder.empty()) folders.push_back({folder, kUsersFolders});
  return folders;
}

// A toolkit has lib64, NVIDIA's wheels and conda's packages have lib.
std::vector<Folder> toolkit_folders() {
  std::vector<Folder> folders;
  const auto add = [&](const std::string& home, const char* rule) {
    for (const char* const libraries : {"/lib64", "/lib"})
      if (const std::string path = home + libraries;
          std::ranges::none_of(folders, [&](const Folder& known) { return known.path == path; }))
        folders.push_back({path, rule});
  };
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const home = std::getenv(variable); home != nullptr && *home != '\0')
      add(home, variable);
  add("/usr/local/cuda", "/usr/local/cuda");
  return folders;
}

std::string path_of(void* handle) {
  const link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "a library";
  return map->l_name;
}

std::string folder_of(const std::string& file) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  const std::filesystem::path resolved = std::filesystem::canonical(folder, error);
  return error ? folder.string() : resolved.string();
}

std::string last_problem() {
  const char* const problem = dlerror();
  return problem == nullptr ? "an unknown error" : problem;
}

}  // namespace

// Remembers what it has seen, for the message.
class LibrarySearch {
 public:
  explicit LibrarySearch(std::span<const char* const> names) : names_(names) {}

  Result<SharedLibrary> run() {
    for (const Folder& folder : users_folders())
      if (void* const handle = in(folder)) return SharedLibrary(handle, folder.rule);
    if (void* const handle = by_name(RTLD_NOLOAD))
      return SharedLibrary(handle, "loaded by the process");
    searched_.emplace_back("the libraries of this process");
    for (const Folder& folder : toolkit_folders())
      if (void* const handle = in(folder)) return SharedLibrary(handle, folder.rule);
    if (void* const handle = by_name(0)) return SharedLibrary(handle, "the dynamic loader");
    searched_.emplace_back("the dynamic loader's paths");
    return unsupported(
        "{} was not found (searched: {}{}{}; SOFTNEURO_CUDA_LIBRARIES may name other folders)",
        fmt::join(names_.begin(), names_.end(), " or "), fmt::join(searched_, ", "),
        problems_.empty() ? "" : "; ", fmt::join(problems_, "; "));
  }

 private:
  void* in(const Folder& folder) {
    for (const char* const name : names_) {
      const std::string file = folder.path + "/" + name;
      if (access(file.c_str(), F_OK) != 0) continue;
      if (void* const handle = dlopen(file.c_str(), kMode)) return handle;
      problems_.push_back(last_problem());
    }
    searched_.push_back(folder.path);
    return nullptr;
  }
  void* by_name(int mode) const {
    for (const char* const name : names_)
      if (void* const handle = dlopen(name, kMode | mode)) return handle;
    return nullptr;
  }

  std::span<const char* const> names_;
  std::vector<std::string> searched_, problems_;
};

Result<SharedLibrary> SharedLibrary::open(std::span<const char* const> names) {
  return LibrarySearch(names).run();
}

Result<SharedLibrary> SharedLibrary::open_file(const std::string& path) {
  if (void* const handle = dlopen(path.c_str(), kMode)) return SharedLibrary(handle, path);
  return unsupported("{}", last_problem());
}

void* SharedLibrary::symbol(const char* name) const noexcept {
  return dlsym(handle_, name);
}

std::string SharedLibrary::path() const {
  return path_of(handle_);
}

std::string SharedLibrary::folder() const {
  return folder_of(path());
}

std::string loaded_folder(const char* name) {
  void* const handle = dlopen(name, kMode | RTLD_NOLOAD);
  return handle == nullptr ? std::string() : folder_of(path_of(handle));
}

}  // namespace softneuro::cuda
