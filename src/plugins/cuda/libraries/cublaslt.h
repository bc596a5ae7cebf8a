// cuBLASLt through a table of entry points.
#pragma once

#include <cublasLt.h>

#include <string>

#include "softneuro/status.h"

namespace softneuro::cuda {

#define SN_CUDA_CUBLASLT(X)               \
  X(cublasLtGetStatusString)              \
  X(cublasLtGetVersion)                   \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmul)

struct CublasLt {
#define SN_DECLARE(name) decltype(&::name) name = nullptr;
  SN_CUDA_CUBLASLT(SN_DECLARE)
#undef SN_DECLARE
  std::string path;      // of the library
  std::string found_by;  // SharedLibrary::found_by()

  // Fine, or an error that names the call: out_of_memory, else device_failed.
  Status check(cublasStatus_t status, const char* call) const noexcept;
  // "13.0.2"
  std::string version() const;
};

// The library of this machine, opened at the first call. unsupported, with the reason, where there
// is none.
Result<const CublasLt*> load_cublaslt();

}  // namespace softneuro::cuda
