// Libraries of CUDA, opened when they are needed and never closed. Nothing is linked, so the plugin
// loads on machines that have none of them.
#pragma once

#include <span>
#include <string>

#include "softneuro/status.h"

namespace softneuro::cuda {

class SharedLibrary {
 public:
  // The first of `names` that the process has already, that the loader finds, or that is in one
  // of the toolkit's folders: those of SOFTNEURO_CUDA_LIBRARIES (separated by colons; for NVIDIA's
  // Python wheels), CUDA_HOME, CUDA_PATH, /usr/local/cuda. unsupported if there is none; the
  // message says what was looked for.
  static Result<SharedLibrary> open(std::span<const char* const> names);

  // Null if the library has no such symbol.
  void* symbol(const char* name) const noexcept;
  // Where the library was found.
  std::string path() const;

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

// Sets `entry` to the symbol of that name; unsupported if the library has none.
template <class Function>
Status resolve(const SharedLibrary& library, const char* name, Function*& entry) {
  entry = reinterpret_cast<Function*>(library.symbol(name));
  if (entry != nullptr) return {};
  return Status(StatusCode::unsupported, library.path() + " has no " + name);
}

}  // namespace softneuro::cuda
