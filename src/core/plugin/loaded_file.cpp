#include "core/plugin/loaded_file.h"

#if !defined(SOFTNEURO_NO_PLUGINS)
#include <dlfcn.h>
#endif

namespace softneuro {

#if defined(SOFTNEURO_NO_PLUGINS)

std::string file_of(const void*) {
  return {};
}

#else

std::string file_of(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

#endif

std::string library_file() {
  return file_of(&library_file);
}

}  // namespace softneuro
