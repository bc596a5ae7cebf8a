// NVIDIA's run-time compiler through a table of entry points.
#pragma once

#include <nvrtc.h>

#include <string>

#include "softneuro/status.h"

namespace softneuro::cuda {

#define SN_CUDA_NVRTC(X)       \
  X(nvrtcGetErrorString)       \
  X(nvrtcVersion)              \
  X(nvrtcGetNumSupportedArchs) \
  X(nvrtcGetSupportedArchs)    \
  X(nvrtcCreateProgram)        \
  X(nvrtcDestroyProgram)       \
  X(nvrtcCompileProgram)       \
  X(nvrtcGetProgramLogSize)    \
  X(nvrtcGetProgramLog)        \
  X(nvrtcGetCUBINSize)         \
  X(nvrtcGetCUBIN)             \
  X(nvrtcGetPTXSize)           \
  X(nvrtcGetPTX)

struct Nvrtc {
#define SN_DECLARE(name) decltype(&::name) name = nullptr;
  SN_CUDA_NVRTC(SN_DECLARE)
#undef SN_DECLARE
  std::string path;      // of the library
  std::string found_by;  // SharedLibrary::found_by()

  Status check(nvrtcResult result, const char* call) const;
  // "13.0"
  std::string version() const;
};

// The compiler of this machine, opened at the first call. unsupported, with the reason, where there
// is none.
Result<const Nvrtc*> load_nvrtc();

// A module for GPUs of `architecture` (compute capability times ten): machine code, or, where the
// compiler does not know that one, PTX for the last architecture before it, which the driver
// compiles. Thread safe.
Result<std::string> compile(const Nvrtc& nvrtc, const std::string& source, int architecture);

}  // namespace softneuro::cuda
