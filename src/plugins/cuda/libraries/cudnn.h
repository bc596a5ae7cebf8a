// cuDNN 9's graph API through a table of entry points. Built where its headers were found.
#pragma once

#include <cudnn.h>

#include <string>

#include "softneuro/status.h"

namespace softneuro::cuda {

#define SN_CUDA_CUDNN(X)           \
  X(cudnnGetVersion)               \
  X(cudnnGetErrorString)           \
  X(cudnnGetLastErrorString)       \
  X(cudnnCreate)                   \
  X(cudnnDestroy)                  \
  X(cudnnSetStream)                \
  X(cudnnBackendCreateDescriptor)  \
  X(cudnnBackendDestroyDescriptor) \
  X(cudnnBackendSetAttribute)      \
  X(cudnnBackendGetAttribute)      \
  X(cudnnBackendFinalize)          \
  X(cudnnBackendExecute)

struct Cudnn {
#define SN_DECLARE(name) decltype(&::name) name = nullptr;
  SN_CUDA_CUDNN(SN_DECLARE)
#undef SN_DECLARE
  std::string path;      // of the library
  std::string found_by;  // SharedLibrary::found_by()
  std::string parts;     // that were opened: "graph, ops, cnn"

  // Fine, or an error that names the call, with what cuDNN says of it: out_of_memory, unsupported
  // (no engine does this), else device_failed.
  Status check(cudnnStatus_t status, const char* call) const noexcept;
  // "9.19.0"
  std::string version() const;
};

// Opens the parts of the library in `folder`, which is without links; gives their names. cuDNN
// opens them by name when it first needs them: the loader then takes those that the process has,
// and may find others of another version, which do not work together. unsupported where one that is
// loaded, or that the loader finds, is in another folder.
Result<std::string> open_cudnn_parts(const std::string& folder);
// The library of this machine, opened at the first call. unsupported, with the reason, where there
// is none, or where its parts come from several folders.
Result<const Cudnn*> load_cudnn();

}  // namespace softneuro::cuda
