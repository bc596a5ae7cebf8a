// Libraries of CUDA, opened when they are needed and never closed. Nothing is linked, so the plugin
// loads on machines that have none of them.
#pragma once

#include <span>
#include <string>

#include "softneuro/status.h"

namespace softneuro::cuda {

class SharedLibrary {
 public:
  // The first of `names` that is in a folder of SOFTNEURO_CUDA_LIBRARIES (separated by colons),
  // that the process has already, that is in a toolkit (CUDA_HOME, CUDA_PATH, /usr/local/cuda), or
  // that the loader finds. unsupported if there is none: the message says where it was looked for,
  // and why a file that is there could not be opened.
  static Result<SharedLibrary> open(std::span<const char* const> names);
  // That file; unsupported, with the loader's reason, if it cannot be opened.
  static Result<SharedLibrary> open_file(const std::string& path);

  // Null if the library has no such symbol.
  void* symbol(const char* name) const noexcept;
  // Where the library was found.
  std::string path() const;
  // That it is in, without links.
  std::string folder() const;
  // Which of the rules found it, for people: "CUDA_HOME".
  const std::string& found_by() const noexcept { return found_by_; }

 private:
  friend class LibrarySearch;
  SharedLibrary(void* handle, std::string found_by)
      : handle_(handle), found_by_(std::move(found_by)) {}

  void* handle_;
  std::string found_by_;
};

// Where the library with this name is that the process has; empty if it has none.
std::string loaded_folder(const char* name);

// Sets `entry` to the symbol of that name; unsupported if the library has none.
template <class Function>
Status resolve(const SharedLibrary& library, const char* name, Function*& entry) {
  entry = reinterpret_cast<Function*>(library.symbol(name));
  if (entry != nullptr) return {};
  return Status(StatusCode::unsupported, library.path() + " has no " + name);
}

}  // namespace softneuro::cuda
