#include "plugins/cuda/libraries/libraries.h"

#include "plugins/cuda/libraries/cublaslt.h"
#if defined(SOFTNEURO_HAS_CUDNN)
#include "plugins/cuda/libraries/cudnn.h"
#endif
#include "plugins/cuda/libraries/driver.h"
#include "plugins/cuda/libraries/nvrtc.h"

namespace softneuro::cuda {
namespace {

// Any but the driver.
template <class Library>
PluginLibrary describe(const char* name, const Result<const Library*>& found) {
  PluginLibrary library;
  library.name = name;
  library.problem = found.status().message();
  if (!found.ok()) return library;
  library.version = (*found)->version();
  library.path = (*found)->path;
  library.note = "by " + (*found)->found_by;
  return library;
}

// One that does not start up has a version, too.
PluginLibrary describe_driver() {
  PluginLibrary library;
  library.name = "CUDA driver";
  library.problem = load_driver().status().message();
  const Result<const Driver*> found = find_driver();
  if (!found.ok()) return library;
  library.version = (*found)->version().value_or("");
  library.path = (*found)->path;
  library.note =
      "by " + (*found)->found_by + "; the version is that of the newest CUDA that it can run";
  return library;
}

}  // namespace

std::vector<PluginLibrary> libraries() {
  std::vector<PluginLibrary> all = {describe_driver(), describe("NVRTC", load_nvrtc()),
                                    describe("cuBLASLt", load_cublaslt())};
#if defined(SOFTNEURO_HAS_CUDNN)
  all.push_back(describe("cuDNN", load_cudnn()));
  if (const auto cudnn = load_cudnn(); cudnn.ok()) all.back().note += ": " + (*cudnn)->parts;
#endif
  return all;
}

}  // namespace softneuro::cuda
